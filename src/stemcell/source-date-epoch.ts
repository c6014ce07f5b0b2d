import { ProductError } from '../errors/product-error.ts';

/** 1 January 2026; any fixed moment would do. */
const defaultEpoch = 1_767_225_600;

/**
 * Seconds since 1970 that what is built is dated with, so that it does not tell when it was built: the variable
 * SOURCE_DATE_EPOCH (reproducible-builds.org/specs/source-date-epoch), or a fixed moment. INVALID_ARGUMENT otherwise.
 */
export function sourceDateEpoch(variable: string | undefined): number {
  if (variable === undefined || variable === '') return defaultEpoch;
  if (/^[0-9]{1,11}$/.test(variable)) return Number(variable);
  throw new ProductError('INVALID_ARGUMENT', `SOURCE_DATE_EPOCH is '${variable}', not seconds since 1970`);
}
