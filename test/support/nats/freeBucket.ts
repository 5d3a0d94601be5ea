import type { BucketName } from '../../../shared/bucket/buckets.js';

/** A bucket that no part of the service uses: it accepts any value. */
export const FREE_BUCKET = 'vouch-free' as BucketName;
