import { imageInvalid, isRecord, parseDescriptor } from '../blob/parse-descriptor.ts';
import type { Descriptor } from '../image-source.ts';
import { referenceName } from './layout-paths.ts';

export interface Platform {
  readonly os: string;
  readonly architecture: string;
}

/**
 * The one image of an index's `manifests`; among several, that for the platform, by default linux/amd64. IMAGE_INVALID names
 * `what` and says which there are when none or several fit.
 */
export function chooseImage(manifests: unknown, platform: Platform | undefined, what: string): Descriptor {
  if (!Array.isArray(manifests)) throw imageInvalid(`${what} has no list 'manifests'`);
  const entries = manifests.map((value: unknown, index) => ({
    descriptor: parseDescriptor(value, `manifest ${index} of ${what}`),
    name: nameOf(value),
    platform: platformOf(value),
  }));
  const { os, architecture } = platform ?? { os: 'linux', architecture: 'amd64' };
  const wanted = `${os}/${architecture}`;
  const fitting = entries.length > 1 ? entries.filter((entry) => entry.platform === wanted) : entries;
  const [only, ...others] = fitting;
  if (only !== undefined && others.length === 0) return only.descriptor;
  const there = entries.map((entry) => [entry.name, entry.platform].filter(Boolean).join(' ') || 'unnamed');
  throw imageInvalid(
    `${what} has ${fitting.length} images for ${wanted} instead of one; there are: ${there.join(', ') || 'none'}`,
  );
}

function nameOf(value: unknown): string | undefined {
  const annotations = isRecord(value) ? value['annotations'] : undefined;
  const name = isRecord(annotations) ? annotations[referenceName] : undefined;
  return typeof name === 'string' ? name : undefined;
}

function platformOf(value: unknown): string | undefined {
  const platform = isRecord(value) ? value['platform'] : undefined;
  return isRecord(platform) ? `${String(platform['os'])}/${String(platform['architecture'])}` : undefined;
}
