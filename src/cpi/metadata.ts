import type { Json } from './input.ts';
import { annotation, label } from './labels.ts';
import { labelValue } from './names.ts';

/** Labels that are made of metadata, with the names that the callers use for them, the first one present wins. */
const metadataLabels: Readonly<Record<string, readonly string[]>> = {
  [label.director]: ['director'],
  [label.deployment]: ['deployment'],
  [label.instanceGroup]: ['instance_group', 'job'],
  [label.index]: ['index', 'instance_index'],
  [label.id]: ['id', 'instance_id'],
};

/** The part of a patch that takes all labels that are made of metadata from an object. */
export const noMetadataLabels: Readonly<Record<string, null>> = Object.fromEntries(
  Object.keys(metadataLabels).map((name) => [name, null]),
);

/**
 * A merge patch that makes `metadata` the metadata of an object: what can select is a label, all of it is one
 * annotation. What the former metadata had and this has not goes away with it.
 */
export function metadataPatch(
  metadata: Json,
  extraLabels: Readonly<Record<string, string | null>> = {},
): { metadata: { labels: Record<string, string | null>; annotations: Record<string, string> } } {
  const labels = Object.entries(metadataLabels).map(([name, keys]) => {
    const value = keys.map((key) => metadata[key]).find((found) => found !== undefined && found !== null);
    return [name, value === undefined ? null : labelValue(toText(value))] as const;
  });
  return {
    metadata: {
      labels: { ...Object.fromEntries(labels), ...extraLabels },
      annotations: { [annotation.metadata]: JSON.stringify(metadata) },
    },
  };
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
