import type { BucketName } from '../../../shared/bucket/buckets.js';

/** Of no part of the service: it takes whatever is put. */
export const FREE_BUCKET = 'vouch-free' as BucketName;
