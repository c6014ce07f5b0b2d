import { imageInvalid, isRecord, parseDescriptor } from '../blob/parse-descriptor.ts';
import type { Descriptor } from '../image-source.ts';
import { containerdName, referenceName } from './layout-paths.ts';

export interface Platform {
  readonly os: string;
  readonly architecture: string;
}

export interface ImageChoice {
  /** Which image of one for several platforms; default linux/amd64. */
  readonly platform?: Platform | undefined;
  /** Which image of several with names of their own. */
  readonly reference?: string | undefined;
}

interface Entry {
  readonly descriptor: Descriptor;
  readonly names: readonly string[];
  readonly platform: string | undefined;
}

/**
 * The one image of an index's `manifests`: among several that with the name, and for the platform if they say theirs. IMAGE_INVALID
 * names `what` and says which there are if none or several fit. One image may be there under several names.
 */
export function selectManifest(
  manifests: unknown,
  { platform, reference }: ImageChoice,
  what: string,
): Descriptor {
  if (!Array.isArray(manifests)) throw imageInvalid(`${what} has no list 'manifests'`);
  const entries = manifests.map((value: unknown, index): Entry => ({
    descriptor: parseDescriptor(value, `manifest ${index} of ${what}`),
    names: namesOf(value),
    platform: platformOf(value),
  }));
  const named = reference === undefined ? entries : entries.filter(({ names }) => names.includes(reference));
  const { os, architecture } = platform ?? { os: 'linux', architecture: 'amd64' };
  const wanted = `${os}/${architecture}`;
  const fitting = named.length > 1 ? forPlatform(named, wanted) : named;
  const different = new Map(fitting.map(({ descriptor }) => [descriptor.digest, descriptor]));
  const [only, ...others] = different.values();
  if (only !== undefined && others.length === 0) return only;
  const asked = reference === undefined ? wanted : `${wanted} with the name '${reference}'`;
  const next = entries.some(({ names }) => names.length > 0) ? '; choose one with --reference NAME' : '';
  throw imageInvalid(
    `${what} has ${different.size} images for ${asked} instead of one; there are: ${entries.map(shown).join(', ') || 'none'}${next}`,
  );
}

/** Those for it, else those that do not say for which they are. */
function forPlatform(entries: readonly Entry[], wanted: string): readonly Entry[] {
  const those = entries.filter(({ platform }) => platform === wanted);
  return those.length > 0 ? those : entries.filter(({ platform }) => platform === undefined);
}

/** Its longest name: docker save gives images of several repositories the same tag. */
const shown = ({ names, platform }: Entry): string =>
  [names.at(-1), platform].filter((word) => word !== undefined).join(' ') || 'unnamed';

/** Names of an entry of an index. */
export function namesOf(entry: unknown): readonly string[] {
  const annotations = isRecord(entry) ? entry['annotations'] : undefined;
  const names = [referenceName, containerdName].map((key) =>
    isRecord(annotations) ? annotations[key] : undefined,
  );
  return names.filter((name) => typeof name === 'string');
}

function platformOf(value: unknown): string | undefined {
  const platform = isRecord(value) ? value['platform'] : undefined;
  return isRecord(platform) ? `${String(platform['os'])}/${String(platform['architecture'])}` : undefined;
}
