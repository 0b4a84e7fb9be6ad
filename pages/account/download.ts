/** Lets the browser save a text as a file. */
export function download(name: string, content: string, type: string): void {
  const href = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement('a'), { href, download: name }).click();
  // Delayed, because the browser may still be reading the blob.
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
