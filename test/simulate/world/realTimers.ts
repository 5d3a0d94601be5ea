/** What Node itself does for a simulation, taken before anything is replaced. */
export const realSetImmediate = setImmediate;
export const realSetTimeout = setTimeout;
export const realDateNow = Date.now;
