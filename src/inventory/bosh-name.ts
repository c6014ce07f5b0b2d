import { annotation } from '../cpi/objects/labels.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { type JsonObject, parseJsonObject } from '../platform/json.ts';

/** The names that BOSH gave to an object, from the metadata that the CPI recorded. */
export interface BoshName {
  readonly deployment: string | undefined;
  /** For example `web/0`. */
  readonly instance: string | undefined;
  /** The id of the instance, which a director shows as `web/ID`. create-env has none. */
  readonly id: string | undefined;
  readonly group: string | undefined;
  /** True if create-env made the object, false if a director did; undefined if that is not known. */
  readonly isOfCreateEnv: boolean | undefined;
}

/** Length at which a name is truncated. */
const maxNameLength = 200;

/**
 * Parses the annotation `metadata`. Every user who may edit pods can set it to any text, so each name that is
 * not a text counts as absent.
 */
export function boshNameOf({ metadata: { annotations } }: KubernetesObject): BoshName {
  const metadata = parseJsonObject(annotations?.[annotation.metadata] ?? '') ?? {};
  const group = textOf(metadata, 'instance_group', 'job');
  const index = textOf(metadata, 'index', 'instance_index');
  return {
    deployment: textOf(metadata, 'deployment'),
    instance: group === undefined || index === undefined ? textOf(metadata, 'name') : `${group}/${index}`,
    id: textOf(metadata, 'id', 'instance_id'),
    group,
    isOfCreateEnv: metadata['director'] === undefined ? undefined : metadata['director'] === 'bosh-init',
  };
}

/** Returns the first of these keys that is a text or a number. */
function textOf(metadata: JsonObject, ...keys: readonly string[]): string | undefined {
  const found = keys.map((key) => metadata[key]).find(isName);
  if (found === undefined) return undefined;
  const text = String(found);
  return text.length > maxNameLength ? `${text.slice(0, maxNameLength)}…` : text;
}

const isName = (value: unknown): value is string | number =>
  (typeof value === 'string' && value !== '') || typeof value === 'number';

/** Returns for example `dep/web/0`; undefined if the object has no metadata. */
export function fullName({ deployment, instance }: BoshName): string | undefined {
  if (instance === undefined) return deployment;
  return deployment === undefined ? instance : `${deployment}/${instance}`;
}
