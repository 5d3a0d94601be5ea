/** The entry of the page. It shows the first frame before it loads the program, which takes longer than the frame. */

const frameShown = (): Promise<void> =>
  new Promise((shown) => {
    // A page in the background has no frames.
    if (document.hidden) shown();
    else requestAnimationFrame(() => setTimeout(shown));
  });

void frameShown().then(() => import('./main.js'));
