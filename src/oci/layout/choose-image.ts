import { imageInvalid, isRecord, parseDescriptor } from '../blob/parse-descriptor.ts';
import type { Descriptor } from '../image-source.ts';
import { referenceName } from './layout-paths.ts';

export interface Platform {
  readonly os: string;
  readonly architecture: string;
}

export interface ImageChoice {
  readonly reference?: string | undefined;
  readonly platform?: Platform | undefined;
}

/**
 * The one image of an index's `manifests` that is meant: by reference where one is asked for, then, among several, by
 * platform. IMAGE_INVALID names `what` and says which there are when none or several fit.
 */
export function chooseImage(manifests: unknown, choice: ImageChoice, what: string): Descriptor {
  if (!Array.isArray(manifests)) throw imageInvalid(`${what} has no list 'manifests'`);
  const entries = manifests.map((value: unknown, index) => ({
    descriptor: parseDescriptor(value, `manifest ${index} of ${what}`),
    name: nameOf(value),
    platform: platformOf(value),
  }));
  const named = entries.filter(({ name }) => choice.reference === undefined || name === choice.reference);
  const { os, architecture } = choice.platform ?? { os: 'linux', architecture: 'amd64' };
  const wanted = `${os}/${architecture}`;
  const fitting = named.length > 1 ? named.filter(({ platform }) => platform === wanted) : named;
  const [only, ...others] = fitting;
  if (only !== undefined && others.length === 0) return only.descriptor;
  const there = entries.map(({ name, platform }) => [name, platform].filter(Boolean).join(' ') || 'unnamed');
  throw imageInvalid(
    `${what} has ${fitting.length} images${choice.reference === undefined ? '' : ` named '${choice.reference}'`} for ${wanted} instead of one; there are: ${there.join(', ') || 'none'}`,
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
