import { ProductError } from '../errors/product-error.ts';

/** 1 January 2026. Any fixed time would do. */
const defaultEpoch = 1_767_225_600;

/**
 * Returns the date of built files in seconds since 1970, so that the result does not depend on the time of
 * the build: the variable SOURCE_DATE_EPOCH (reproducible-builds.org/specs/source-date-epoch), or a fixed
 * time. Throws INVALID_ARGUMENT if the variable is invalid.
 */
export function sourceDateEpoch(variable: string | undefined): number {
  if (variable === undefined || variable === '') return defaultEpoch;
  if (/^[0-9]{1,11}$/.test(variable)) return Number(variable);
  throw new ProductError('INVALID_ARGUMENT', `SOURCE_DATE_EPOCH is '${variable}', not seconds since 1970`);
}
