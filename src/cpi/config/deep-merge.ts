import type { Json } from '../input.ts';

/**
 * Merges objects key by key; any other value replaces. A kubeconfig is one value: halves of two kubeconfigs
 * do not work together.
 */
export function deepMerge(base: Json, over: Json): Json {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const former = merged.get(key);
    merged.set(
      key,
      isObject(former) && isObject(value) && key !== 'kubeconfig' ? deepMerge(former, value) : value,
    );
  }
  return Object.fromEntries(merged);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
