import type { Json } from './input.ts';
import { annotation } from './labels.ts';
import { labelValue } from './names.ts';

/** Metadata keys that are labels, with the names that the callers use for them, the first one present wins. */
const labelled: Readonly<Record<string, readonly string[]>> = {
  director: ['director'],
  deployment: ['deployment'],
  'instance-group': ['instance_group', 'job'],
  index: ['index', 'instance_index'],
  id: ['id', 'instance_id'],
};

/**
 * A merge patch that makes `metadata` the metadata of an object: what can select is a label, all of it is one
 * annotation. What the former metadata had and this has not goes away with it.
 */
export function metadataPatch(
  metadata: Json,
  moreLabels: Readonly<Record<string, string | null>> = {},
): { metadata: { labels: Record<string, string | null>; annotations: Record<string, string> } } {
  const labels = Object.entries(labelled).map(([name, keys]) => {
    const value = keys.map((key) => metadata[key]).find((found) => found !== undefined && found !== null);
    return [`bosh.cloudfoundry.org/${name}`, value === undefined ? null : labelValue(textOf(value))] as const;
  });
  return {
    metadata: {
      labels: { ...Object.fromEntries(labels), ...moreLabels },
      annotations: { [annotation.metadata]: JSON.stringify(metadata) },
    },
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
