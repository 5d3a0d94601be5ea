/** The media query of narrow screens, which `styles.css` repeats. */
export const PHONE = '(max-width: 40rem)';
