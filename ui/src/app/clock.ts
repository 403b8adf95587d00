/* Clocks of recordings. */

/** Nanoseconds before which a number is no moment since 1970, but a distance on a clock of unknown origin; filters read it so as well. */
const UNIX_FROM = 1e17;

/** Returns true if a number is a distance on a clock of unknown origin. */
export const isOffset = (ns: number): boolean => ns < UNIX_FROM;
