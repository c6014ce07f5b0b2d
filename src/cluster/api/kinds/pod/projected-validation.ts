import type { ProjectedVolume, VolumeProjection } from '../../../../kubernetes/pod.ts';
import { forbiddenField, invalidValue, notDoneHere, required } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { checkItems, checkLocalPath, needed } from './volume-validation.ts';

const leastSeconds = 600;
const mostSeconds = 2 ** 32;
/** Fields of the pod that the node writes into files; the rest of the downward API is not served. */
const podFields = ['metadata.name', 'metadata.namespace', 'metadata.uid'];

/** Causes for a projected volume (kubernetes: validateProjectedVolumeSource). */
export function checkProjected(at: string, volume: ProjectedVolume): Cause[] {
  const sources = volume.sources ?? [];
  const { defaultMode } = volume;
  return [
    ...checkItems(at, { ...(defaultMode === undefined ? {} : { defaultMode }) }),
    ...sources.flatMap((source, index) => checkProjection(`${at}.sources[${index}]`, source)),
  ];
}

function checkProjection(at: string, source: VolumeProjection): Cause[] {
  const { serviceAccountToken: token, configMap, secret, downwardAPI } = source;
  const given = Object.keys(source);
  return [
    ...(given.length === 0 ? [required(at, 'must specify a source')] : []),
    ...given.slice(1).map((key) => forbiddenField(`${at}.${key}`, 'may not specify more than 1 volume type')),
    ...(configMap === undefined ? [] : needed(`${at}.configMap.name`, configMap.name)),
    ...(configMap === undefined ? [] : checkItems(`${at}.configMap`, configMap)),
    ...(secret === undefined ? [] : needed(`${at}.secret.name`, secret.name)),
    ...(secret === undefined ? [] : checkItems(`${at}.secret`, secret)),
    ...(token === undefined ? [] : checkToken(`${at}.serviceAccountToken`, token)),
    ...(downwardAPI === undefined ? [] : checkDownward(`${at}.downwardAPI`, downwardAPI)),
  ];
}

function checkToken(at: string, token: NonNullable<VolumeProjection['serviceAccountToken']>): Cause[] {
  const { expirationSeconds: seconds = leastSeconds, path } = token;
  const wrong = (detail: string): Cause => invalidValue(`${at}.expirationSeconds`, seconds, detail);
  return [
    ...(seconds < leastSeconds ? [wrong('may not specify a duration less than 10 minutes')] : []),
    ...(seconds > mostSeconds ? [wrong('may not specify a duration larger than 2^32 seconds')] : []),
    ...needed(`${at}.path`, path),
    ...checkLocalPath(`${at}.path`, path ?? ''),
  ];
}

function checkDownward(at: string, { items = [] }: NonNullable<VolumeProjection['downwardAPI']>): Cause[] {
  return items.flatMap(({ path, fieldRef }, index) => {
    const here = `${at}.items[${index}]`;
    const field = fieldRef?.fieldPath ?? '';
    return [
      ...needed(`${here}.path`, path),
      ...checkLocalPath(`${here}.path`, path ?? ''),
      ...(podFields.includes(field)
        ? []
        : [notDoneHere(`${here}.fieldRef.fieldPath`, `the downward API beyond ${podFields.join(', ')}`)]),
    ];
  });
}
