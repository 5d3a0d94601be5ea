/**
 * The largest difference of components, M = max|row| + max|query|, for which the kernel's sums are exact in 64 bits:
 * M <= 2^31 − 1, and dimension × M² < 2^63. Beyond it the kernel takes its wide path.
 */
export const narrowReach = (dimension: number): number =>
  Math.min(Math.ceil(Math.sqrt(2 ** 63 / dimension)) - 1, 2 ** 31 - 1);
