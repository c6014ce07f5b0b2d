import { isApiError, type ApiError } from '../../kubernetes/client/api-error.ts';
import type { NamespacedObject } from '../../kubernetes/object.ts';
import { amountOf, formatAmount, type Usage } from '../../kubernetes/types/usage.ts';

type Amounts = Readonly<Record<string, string>>;

/** The part of v1.ResourceQuota that is read. */
export interface ResourceQuota extends NamespacedObject {
  readonly spec?: { readonly hard?: Amounts; readonly scopes?: string[]; readonly scopeSelector?: object };
  readonly status?: { readonly used?: Amounts };
}

export interface Quota {
  readonly name: string;
  readonly hard: Amounts;
  readonly used: Amounts;
}

/** A quota and the amounts that were requested of it, as the server reports them when it refuses. */
export interface QuotaError {
  readonly error: ApiError;
  readonly quota: Quota;
  readonly requested: Amounts;
}

/**
 * Parses the message of the admission plugin ResourceQuota (apiserver: plugin/resourcequota/controller.go);
 * undefined for another error. The numbers of a refused Secret are not known
 * (src/kubernetes/client/api-error.ts), so its quota is empty.
 */
export function quotaRefusal(error: unknown): QuotaError | undefined {
  if (!isApiError(error, 403)) return undefined;
  const match = /exceeded quota: ([^,\s]+)(?:, requested: (\S+), used: (\S+), limited: (\S+))?$/u.exec(
    error.message,
  );
  if (match === null) return undefined;
  const [, name = '', requested, used, hard] = match;
  const quota = { name, used: amountsIn(used), hard: amountsIn(hard) };
  return { error, quota, requested: amountsIn(requested) };
}

/** True if a role refuses the request. */
export const isRoleRefusal = (error: unknown): error is ApiError =>
  isApiError(error, 403) && /cannot \w+ resource "/u.test(error.message);

/**
 * Describes the first quota that cannot take the request after the freed amounts are returned; undefined if
 * all can.
 */
export function quotaShortage(quotas: readonly Quota[], requested: Usage, freed: Usage): string | undefined {
  for (const { name, hard, used } of quotas) {
    for (const key of Object.keys(hard).toSorted()) {
      const needed = requested.get(key) ?? 0n;
      const returned = freed.get(key) ?? 0n;
      const limit = amountOf(hard, key);
      const taken = amountOf(used, key);
      if (needed === 0n || taken - returned + needed <= limit) continue;
      const amount = (milli: bigint): string => formatAmount(key, milli);
      const freedPart = returned === 0n ? '' : ` (${amount(returned)} of it by the VM that is replaced)`;
      return `ResourceQuota ${name} leaves no room: ${key} ${amount(needed)} requested, ${amount(taken)} used${freedPart}, ${amount(limit)} at most`;
    }
  }
  return undefined;
}

/** Returns the sum of several usages. */
export function sumOf(usages: readonly Usage[]): Usage {
  const sum = new Map<string, bigint>();
  for (const usage of usages)
    for (const [name, amount] of usage) sum.set(name, (sum.get(name) ?? 0n) + amount);
  return sum;
}

function amountsIn(text: string | undefined): Record<string, string> {
  if (text === undefined) return {};
  return Object.fromEntries(
    text.split(',').map((entry) => {
      const end = entry.lastIndexOf('=');
      return [entry.slice(0, end), entry.slice(end + 1)] as const;
    }),
  );
}
