import type { KubernetesObject } from '../../kubernetes/object.ts';
import { label } from '../objects/labels.ts';

/**
 * A replacement of a replacement has several previous cids: one in the label `replaces`, each of the others
 * in a label of its own.
 */
const prefix = 'former.bosh.cloudfoundry.org/';

/** Returns selectors. A disk that any of them finds has this previous cid. */
export const selectorsOf = (previousCid: string): readonly string[] => [
  `${label.replaces}=${previousCid}`,
  `${prefix}${previousCid}`,
];

/**
 * Returns the labels for the previous cids of a replacement. A caller that uses the cid of the disk itself
 * knows it, so the earlier cids are dropped. A caller that uses a previous cid may still receive the current
 * cid from another call that has not returned yet.
 * Model: update.pml
 */
export function previousCids(
  cid: string,
  { name = '', labels = {} }: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> },
): Record<string, string> {
  if (name === cid) return { [label.replaces]: cid };
  const earlier = Object.entries(labels).filter(([key]) => key.startsWith(prefix));
  const { [label.replaces]: before = cid } = labels;
  const others = [name, before]
    .filter((one) => one !== cid)
    .map((one) => [`${prefix}${one}`, 'true'] as const);
  return { ...Object.fromEntries([...earlier, ...others]), [label.replaces]: cid };
}

/** Returns true for a disk that any of `selectorsOf` finds. */
export const hasPreviousCid = (
  { metadata: { labels = {} } }: KubernetesObject,
  previousCid: string,
): boolean => labels[label.replaces] === previousCid || labels[`${prefix}${previousCid}`] !== undefined;

export const isPreviousCid = (key: string): boolean => key === label.replaces || key.startsWith(prefix);

/** Returns the part of a patch that removes all previous cids from a disk. */
export const noPreviousCids = (labels: Readonly<Record<string, string>> = {}): Record<string, null> =>
  Object.fromEntries(
    [label.replaces, ...Object.keys(labels).filter(isPreviousCid)].map((key) => [key, null]),
  );
