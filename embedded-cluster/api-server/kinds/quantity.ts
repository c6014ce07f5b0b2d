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
