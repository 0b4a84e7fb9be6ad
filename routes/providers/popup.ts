/** Apps can start a login in a popup and must keep their reference to it, so no Cross-Origin-Opener-Policy is sent. */
export const inPopup = { crossOriginOpenerPolicy: false } as const;
