import type { KubernetesObject } from '../../kubernetes/object.ts';
import { label } from '../labels.ts';

/** A copy of a copy has several former cids: one in the label `replaces`, the others each in a label of its own. */
const prefix = 'former.bosh.cloudfoundry.org/';

/** Selectors, one a list: a disk that any of them finds has this former cid. */
export const selectorsOf = (formerCid: string): readonly string[] => [
  `${label.replaces}=${formerCid}`,
  `${prefix}${formerCid}`,
];

/**
 * The labels that give a copy its former cids. A caller that names the disk by its own cid has heard of that, so the earlier ones are
 * forgotten; one that names it by a former cid may be told the own one by another call that has not answered yet. Pure.
 *
 * Model: update.pml
 */
export function formerCids(
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

/** True for a disk that any of `selectorsOf` finds. Pure. */
export const hasFormerCid = ({ metadata: { labels = {} } }: KubernetesObject, formerCid: string): boolean =>
  labels[label.replaces] === formerCid || labels[`${prefix}${formerCid}`] !== undefined;

export const isFormerCid = (key: string): boolean => key === label.replaces || key.startsWith(prefix);

/** The part of a patch that takes all former cids from a disk. Pure. */
export const noFormerCids = (labels: Readonly<Record<string, string>> = {}): Record<string, null> =>
  Object.fromEntries([label.replaces, ...Object.keys(labels).filter(isFormerCid)].map((key) => [key, null]));
