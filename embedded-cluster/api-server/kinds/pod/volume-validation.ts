import type {
  Container,
  ProjectedVolume,
  Volume,
  VolumeProjection,
} from '../../../../src/kubernetes/types/pod.ts';
import {
  forbiddenField,
  invalidValue,
  referenceNotFound,
  unsupported,
  required,
  unsupportedValue,
  type Cause,
} from '../../errors/field-causes.ts';
import { checkName } from '../names.ts';
import { checkClaimSpec } from '../persistent-volume-claims.ts';
import { duplicateIndexes } from '../repeated-places.ts';
import { checkQuantity } from '../resources.ts';

/** Returns the causes for one volume of a pod. */
export function checkVolume(at: string, volume: Volume): Cause[] {
  const sources = Object.keys(volume).filter((key) => key !== 'name');
  const name = volume.name ?? '';
  return [
    ...(name === '' ? [required(`${at}.name`)] : checkName(`${at}.name`, name, 'label')),
    ...sources
      .slice(1)
      .map((source) => forbiddenField(`${at}.${source}`, 'may not specify more than 1 volume type')),
    ...checkSource(at, volume),
  ];
}

function checkSource(at: string, volume: Volume): Cause[] {
  const {
    emptyDir,
    secret,
    configMap,
    hostPath,
    persistentVolumeClaim: claim,
    csi,
    ephemeral,
    projected,
  } = volume;
  return [
    ...(emptyDir === undefined ? [] : checkEmptyDir(`${at}.emptyDir`, emptyDir)),
    ...(secret === undefined ? [] : checkRequiredString(`${at}.secret.secretName`, secret.secretName)),
    ...(secret === undefined ? [] : checkItems(`${at}.secret`, secret)),
    ...(configMap === undefined ? [] : checkRequiredString(`${at}.configMap.name`, configMap.name)),
    ...(configMap === undefined ? [] : checkItems(`${at}.configMap`, configMap)),
    ...(projected === undefined ? [] : checkProjected(`${at}.projected`, projected)),
    ...(hostPath === undefined ? [] : checkHostPath(`${at}.hostPath`, hostPath)),
    ...(claim === undefined
      ? []
      : checkRequiredString(`${at}.persistentVolumeClaim.claimName`, claim.claimName)),
    ...(csi === undefined ? [] : checkRequiredString(`${at}.csi.driver`, csi.driver)),
    ...(ephemeral === undefined
      ? []
      : checkClaimSpec(`${at}.ephemeral.volumeClaimTemplate.spec`, ephemeral.volumeClaimTemplate?.spec)),
  ];
}

const checkRequiredString = (field: string, value: string | undefined): Cause[] =>
  (value ?? '') === '' ? [required(field)] : [];

function checkEmptyDir(at: string, { medium, sizeLimit }: NonNullable<Volume['emptyDir']>): Cause[] {
  return [
    ...(['', 'Memory'].includes(medium ?? '')
      ? []
      : [unsupportedValue(`${at}.medium`, medium, ['', 'Memory'])]),
    ...(sizeLimit === undefined ? [] : checkQuantity(`${at}.sizeLimit`, sizeLimit)),
  ];
}

function checkItems(
  at: string,
  source: Pick<NonNullable<Volume['configMap']>, 'items' | 'defaultMode'>,
): Cause[] {
  const modes = [
    { field: `${at}.defaultMode`, mode: source.defaultMode },
    ...(source.items ?? []).map((item, index) => ({ field: `${at}.items[${index}].mode`, mode: item.mode })),
  ];
  return [
    ...modes
      .filter(({ mode }) => mode !== undefined && (mode < 0 || mode > 0o777))
      .map(({ field, mode }) =>
        invalidValue(field, mode, 'must be a number between 0 and 0777 (octal), both inclusive'),
      ),
    ...(source.items ?? []).flatMap((item, index) => [
      ...checkRequiredString(`${at}.items[${index}].key`, item.key),
      ...checkRequiredString(`${at}.items[${index}].path`, item.path),
      ...checkLocalPath(`${at}.items[${index}].path`, item.path ?? ''),
    ]),
  ];
}

const hostPathTypes = ['', 'Directory', 'DirectoryOrCreate', 'File'];

function checkHostPath(at: string, { path, type }: NonNullable<Volume['hostPath']>): Cause[] {
  return [
    ...checkRequiredString(`${at}.path`, path),
    ...((path ?? '').split('/').includes('..')
      ? [invalidValue(`${at}.path`, path, "must not contain '..'")]
      : []),
    ...(hostPathTypes.includes(type ?? '') ? [] : [unsupportedValue(`${at}.type`, type, hostPathTypes)]),
  ];
}

const minSeconds = 600;
const maxSeconds = 2 ** 32;
/** Fields of the pod that the node writes into files. The rest of the downward API is not supported. */
const podFields = ['metadata.name', 'metadata.namespace', 'metadata.uid'];

/** Returns the causes for a projected volume (kubernetes: validateProjectedVolumeSource). */
function checkProjected(at: string, volume: ProjectedVolume): Cause[] {
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
    ...(configMap === undefined ? [] : checkRequiredString(`${at}.configMap.name`, configMap.name)),
    ...(configMap === undefined ? [] : checkItems(`${at}.configMap`, configMap)),
    ...(secret === undefined ? [] : checkRequiredString(`${at}.secret.name`, secret.name)),
    ...(secret === undefined ? [] : checkItems(`${at}.secret`, secret)),
    ...(token === undefined ? [] : checkToken(`${at}.serviceAccountToken`, token)),
    ...(downwardAPI === undefined ? [] : checkDownward(`${at}.downwardAPI`, downwardAPI)),
  ];
}

function checkToken(at: string, token: NonNullable<VolumeProjection['serviceAccountToken']>): Cause[] {
  const { expirationSeconds: seconds = minSeconds, path } = token;
  const wrong = (detail: string): Cause => invalidValue(`${at}.expirationSeconds`, seconds, detail);
  return [
    ...(seconds < minSeconds ? [wrong('may not specify a duration less than 10 minutes')] : []),
    ...(seconds > maxSeconds ? [wrong('may not specify a duration larger than 2^32 seconds')] : []),
    ...checkRequiredString(`${at}.path`, path),
    ...checkLocalPath(`${at}.path`, path ?? ''),
  ];
}

function checkDownward(at: string, { items = [] }: NonNullable<VolumeProjection['downwardAPI']>): Cause[] {
  return items.flatMap(({ path, fieldRef }, index) => {
    const here = `${at}.items[${index}]`;
    const field = fieldRef?.fieldPath ?? '';
    return [
      ...checkRequiredString(`${here}.path`, path),
      ...checkLocalPath(`${here}.path`, path ?? ''),
      ...(podFields.includes(field)
        ? []
        : [unsupported(`${here}.fieldRef.fieldPath`, `the downward API beyond ${podFields.join(', ')}`)]),
    ];
  });
}

const propagations = ['Bidirectional', 'HostToContainer', 'None'];

/** Returns the causes for the mounts of one container, given the names of its pod's volumes. */
export function checkVolumeMounts(
  at: string,
  container: Container,
  volumes: ReadonlySet<string | undefined>,
): Cause[] {
  const mounts = container.volumeMounts ?? [];
  const repeated = duplicateIndexes(mounts.map((mount) => mount.mountPath));
  return mounts.flatMap((mount, index) => {
    const here = `${at}[${index}]`;
    const propagation = mount.mountPropagation;
    return [
      ...checkRequiredString(`${here}.name`, mount.name),
      ...(mount.name === undefined || volumes.has(mount.name)
        ? []
        : [referenceNotFound(`${here}.name`, mount.name)]),
      ...checkRequiredString(`${here}.mountPath`, mount.mountPath),
      ...(repeated.has(index) ? [invalidValue(`${here}.mountPath`, mount.mountPath, 'must be unique')] : []),
      ...checkLocalPath(`${here}.subPath`, mount.subPath ?? ''),
      ...(propagation === undefined || propagations.includes(propagation)
        ? []
        : [unsupportedValue(`${here}.mountPropagation`, propagation, propagations)]),
      ...(propagation === 'Bidirectional' && container.securityContext?.privileged !== true
        ? [
            forbiddenField(
              `${here}.mountPropagation`,
              'Bidirectional mount propagation is available only to privileged containers',
            ),
          ]
        : []),
    ];
  });
}

function checkLocalPath(field: string, path: string): Cause[] {
  if (path.startsWith('/')) return [invalidValue(field, path, 'must be a relative path')];
  return path.split('/').includes('..') ? [invalidValue(field, path, "must not contain '..'")] : [];
}
