import type { Json } from './input.ts';
import { annotation, label } from './labels.ts';
import { labelValue } from './names.ts';

/**
 * Labels that are made of metadata, each with the names that callers use for it. The first name that is
 * present wins.
 */
const metadataLabels: Readonly<Record<string, readonly string[]>> = {
  [label.director]: ['director'],
  [label.deployment]: ['deployment'],
  [label.instanceGroup]: ['instance_group', 'job'],
  [label.index]: ['index', 'instance_index'],
  [label.id]: ['id', 'instance_id'],
};

/** The part of a patch that removes all metadata labels from an object. */
export const noMetadataLabels: Readonly<Record<string, null>> = Object.fromEntries(
  Object.keys(metadataLabels).map((name) => [name, null]),
);

/**
 * Returns a merge patch that replaces the BOSH metadata of an object. Selectable keys become labels; the
 * whole becomes one annotation. Labels of keys that are absent now are removed.
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
