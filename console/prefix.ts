/** The path under which a proxy serves the service, without a slash at its end. The console is at `console/` below it. */
export const PREFIX = location.pathname.slice(0, Math.max(0, location.pathname.lastIndexOf('/console/')));
