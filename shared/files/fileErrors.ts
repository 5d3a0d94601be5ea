/** Errors of the system about a file, with its name and in words. */

type SystemError = NodeJS.ErrnoException & { readonly dest?: string };

const isOfSystem = (error: unknown): error is SystemError => error instanceof Error && 'syscall' in error;

/** Adds the name of the file to an error of the system. One of a write or a sync has none, one of a rename a temporary one. */
export function withName<Failure>(error: Failure, path: string): Failure {
  return isOfSystem(error) ? Object.assign(error, { path, dest: undefined }) : error;
}

/** Throws an error with the name of the file, for `catch` of a promise. */
export const named =
  (path: string) =>
  (error: unknown): never => {
    throw withName(error, path);
  };

const AGAIN = 'then run the command again';

/** A line about the file with what to do; undefined if the error is not about a file. */
export function fileMessage(error: unknown): string | undefined {
  if (!isOfSystem(error)) return undefined;
  const path = error.dest ?? error.path;
  if (path === undefined) return undefined;
  switch (error.code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `no space is left for ${path}: make room, ${AGAIN}`;
    case 'EACCES':
    case 'EPERM':
      return `this user may not open or change ${path}: change its permissions or those of its folder, ${AGAIN}`;
    case 'ENOENT':
      return `${path} does not exist, or its folder does not`;
    case 'EISDIR':
      return `${path} is a folder: name a file`;
    case 'ENOTDIR':
      return `a part of the path ${path} is a file: name a folder there`;
    case 'EROFS':
      return `${path} is on a file system that cannot be written: name another place`;
    case 'ENAMETOOLONG':
      return `the name ${path} is too long for its file system: name another one`;
    case 'EMFILE':
    case 'ENFILE':
      return `too many files are open to open ${path}: raise the limit (ulimit -n), ${AGAIN}`;
    case 'EFBIG':
      return `${path} would be larger than its file system allows: name another place`;
    case 'EIO':
      return `${path} cannot be read or written: its disk reports an error (EIO)`;
    default:
      return `${path}: ${error.message}`;
  }
}
