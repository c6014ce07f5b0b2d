import { imageInvalid, isRecord, parseDescriptor } from '../blob.ts';
import type { Descriptor } from '../image-source.ts';
import { containerdName, referenceName } from './open-layout.ts';

export interface Platform {
  readonly os: string;
  readonly architecture: string;
}

export interface ImageChoice {
  /** The platform to choose if the image exists for several; default linux/amd64. */
  readonly platform?: Platform | undefined;
  /** The name to choose if there are several images with different names. */
  readonly reference?: string | undefined;
}

interface Entry {
  readonly descriptor: Descriptor;
  readonly names: readonly string[];
  readonly platform: string | undefined;
}

/**
 * Returns the one image in an index's `manifests`: if there are several, the one with the name and for the
 * platform, as far as they have names and platforms. If none or several match, IMAGE_INVALID names `what` and
 * lists the images. One image may be listed under several names.
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

/** Returns the entries for this platform; if there are none, the entries without a platform. */
function forPlatform(entries: readonly Entry[], wanted: string): readonly Entry[] {
  const those = entries.filter(({ platform }) => platform === wanted);
  return those.length > 0 ? those : entries.filter(({ platform }) => platform === undefined);
}

/** Uses the longest name: docker save gives images of several repositories the same tag. */
const shown = ({ names, platform }: Entry): string =>
  [names.at(-1), platform].filter((word) => word !== undefined).join(' ') || 'unnamed';

/** Returns the names of an entry of an index. */
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
