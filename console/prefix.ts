/** The path under which a proxy serves the service, without a slash at its end: the console is `console/` of the service. */
export const PREFIX = location.pathname.slice(0, Math.max(0, location.pathname.lastIndexOf('/console/')));
