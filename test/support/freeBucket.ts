import type { BucketName } from '../../shared/platform.js';

/** Of no part of the service: it takes whatever is put. */
export const FREE_BUCKET = 'vouch-free' as BucketName;
