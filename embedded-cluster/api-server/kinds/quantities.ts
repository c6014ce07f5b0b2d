import { invalidValue, required, type Cause } from '../errors/field-causes.ts';
import { isRecord } from '../schema/json.ts';

const suffixes: Readonly<Record<string, bigint>> = {
  '': 1n,
  k: 10n ** 3n,
  M: 10n ** 6n,
  G: 10n ** 9n,
  T: 10n ** 12n,
  P: 10n ** 15n,
  E: 10n ** 18n,
  Ki: 2n ** 10n,
  Mi: 2n ** 20n,
  Gi: 2n ** 30n,
  Ti: 2n ** 40n,
  Pi: 2n ** 50n,
  Ei: 2n ** 60n,
};
const nano = 10n ** 9n;
const divisors: Readonly<Record<string, bigint>> = { n: 10n ** 9n, u: 10n ** 6n, m: 10n ** 3n };

/**
 * Returns a resource quantity (`500m`, `1.5Gi`, `1e3`) in billionths of its unit, rounded up; undefined if it
 * is not a quantity (apimachinery pkg/api/resource/quantity.go).
 */
export function parseQuantity(quantity: string): bigint | undefined {
  const [, sign, whole, fraction, exponent, suffix] =
    /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$/.exec(quantity) ?? [];
  const digits = `${whole ?? ''}${fraction ?? ''}`;
  if (sign === undefined || digits === '') return undefined;
  const power = Number(exponent ?? 0) - (fraction ?? '').length;
  const { numerator, denominator } = scale(suffix ?? '');
  const top = BigInt(digits) * numerator * nano * 10n ** BigInt(Math.max(power, 0));
  const bottom = denominator * 10n ** BigInt(Math.max(-power, 0));
  const magnitude = (top + bottom - 1n) / bottom;
  return sign === '-' ? -magnitude : magnitude;
}

function scale(suffix: string): { numerator: bigint; denominator: bigint } {
  const denominator = divisors[suffix];
  if (denominator !== undefined) return { numerator: 1n, denominator };
  return { numerator: suffixes[suffix] ?? 1n, denominator: 1n };
}

const quantityText =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** Returns the causes for a quantity that is missing, malformed or not above zero. */
export function checkQuantity(field: string, value: unknown): Cause[] {
  if (typeof value !== 'string') return [required(field)];
  const parsed = parseQuantity(value);
  if (parsed === undefined) return [invalidValue(field, value, quantityText)];
  return parsed > 0n ? [] : [invalidValue(field, value, 'must be greater than zero')];
}

/** Resources of the embedded node. The scheduler here could not place pods with others (GPUs, huge pages). */
const knownResources = ['cpu', 'memory', 'ephemeral-storage'];

/**
 * Returns the causes for `resources` of a container: names must be known, quantities valid, and requests not
 * above limits.
 */
export function checkContainerResources(field: string, resources: unknown): Cause[] {
  if (!isRecord(resources)) return [];
  const requests = isRecord(resources['requests']) ? resources['requests'] : {};
  const limits = isRecord(resources['limits']) ? resources['limits'] : {};
  return [
    ...Object.entries(limits).flatMap(([name, value]) => checkResource(`${field}.limits`, name, value)),
    ...Object.entries(requests).flatMap(([name, value]) => checkResource(`${field}.requests`, name, value)),
    ...Object.entries(requests)
      .filter(([name, value]) => exceeds(value, limits[name]))
      .map(([name, value]) =>
        invalidValue(
          `${field}.requests`,
          value,
          `must be less than or equal to ${name} limit of ${String(limits[name])}`,
        ),
      ),
  ];
}

function checkResource(field: string, name: string, value: unknown): Cause[] {
  const path = `${field}[${name}]`;
  if (!knownResources.includes(name)) {
    return [invalidValue(path, name, `the embedded cluster has only ${knownResources.join(', ')}`)];
  }
  const parsed = parseQuantity(String(value));
  if (parsed === undefined) return [invalidValue(path, value, quantityText)];
  return parsed >= 0n ? [] : [invalidValue(path, value, 'must be greater than or equal to 0')];
}

function exceeds(request: unknown, limit: unknown): boolean {
  if (typeof request !== 'string' || typeof limit !== 'string') return false;
  const requested = parseQuantity(request);
  const allowed = parseQuantity(limit);
  return requested !== undefined && allowed !== undefined && requested > allowed;
}
