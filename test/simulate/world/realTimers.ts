/** Node's own timers for the simulation, taken before they are replaced. */
export const realSetImmediate = setImmediate;
export const realSetTimeout = setTimeout;
export const realDateNow = Date.now;
