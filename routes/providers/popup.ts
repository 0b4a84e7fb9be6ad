/** Apps may begin a login in a window that they open, and go on hearing of it. */
export const inPopup = { crossOriginOpenerPolicy: false } as const;
