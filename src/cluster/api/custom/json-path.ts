import { isRecord } from '../schema/json.ts';

type Step =
  | { readonly key: string }
  | { readonly index: number }
  | { readonly all: true }
  | { readonly where: string; readonly equals: string };

const steps =
  /\.(?<plain>(?:[\w-]|\\.)+)|\[(?<index>\d+)\]|\[(?<all>\*)\]|\['(?<quoted>[^']+)'\]|\[\?\(@\.(?<where>[\w-]+) *== *["'](?<equals>[^"']*)["']\)\]/y;

/**
 * The steps of a simple JSON path as printer columns have it: `.a.b`, `.a\.b`, `['a']`, `[0]`, `[*]` and
 * `[?(@.type=="Ready")]`. Undefined for anything else.
 */
export function parseJsonPath(path: string): readonly Step[] | undefined {
  const parsed: Step[] = [];
  steps.lastIndex = 0;
  while (steps.lastIndex < path.length) {
    const groups = steps.exec(path)?.groups;
    if (groups === undefined) return undefined;
    parsed.push(stepOf(groups));
  }
  return parsed;
}

function stepOf(groups: Readonly<Record<string, string | undefined>>): Step {
  const { plain, index, all, quoted, where = '', equals = '' } = groups;
  if (plain !== undefined) return { key: plain.replaceAll(/\\(.)/g, '$1') };
  if (index !== undefined) return { index: Number(index) };
  if (all !== undefined) return { all: true };
  return quoted === undefined ? { where, equals } : { key: quoted };
}

/** All values at a path; none where something on the way is missing. */
export function valuesAt(path: readonly Step[], value: unknown): unknown[] {
  return path.reduce<unknown[]>((values, step) => values.flatMap((one) => stepInto(step, one)), [value]);
}

function stepInto(step: Step, value: unknown): unknown[] {
  if ('key' in step) return isRecord(value) && Object.hasOwn(value, step.key) ? [value[step.key]] : [];
  const list = Array.isArray(value) ? (value as unknown[]) : [];
  if ('index' in step) return list.slice(step.index, step.index + 1);
  if ('all' in step) return list;
  return list.filter(
    (item) =>
      isRecord(item) &&
      Object.hasOwn(item, step.where) &&
      isScalar(item[step.where]) &&
      String(item[step.where]) === step.equals,
  );
}

const isScalar = (value: unknown): boolean => typeof value !== 'object';
