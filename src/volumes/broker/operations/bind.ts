import { isDeepStrictEqual } from 'node:util';
import { isSignable, signVolumeId } from '../../signature/signed-volume-id.ts';
import type { BrokerResponse } from '../http/answer.ts';
import { badRequest, errorResponse } from '../http/answer.ts';
import { isAllowed, shareNotAllowed } from '../offerings/allowed-shares.ts';
import type { Offering } from '../offerings/offering.ts';
import type { Options, ParsedOptions } from '../options/parse-options.ts';
import {
  withSpacePrefix,
  mergeOptions,
  toMountConfig,
  mergeOver,
  parseOptions,
} from '../options/parse-options.ts';
import type { BindingTarget, StoreUpdate, BindingView } from '../store/broker-store.ts';
import type { BindingRecord, InstanceRecord, VolumeMount } from '../store/record.ts';
import type { BindRequest } from './request.ts';
import type { VolumeIdScheme } from './volume-id.ts';
import { createVolumeId } from './volume-id.ts';

/**
 * Creates a binding of an instance to an app. The same PUT again gets the stored response, even if the
 * instance has changed. `predecessor` is the binding that the request replaces, if it names one: the new
 * binding takes over its app and options.
 */
export function bind(
  { instance, binding }: BindingView,
  { instanceId, bindingId }: BindingTarget,
  request: BindRequest,
  ports: { predecessor: BindingRecord | undefined; scheme: VolumeIdScheme },
): StoreUpdate {
  const { offering, predecessorBindingId } = request;
  const predecessor = isReplayOfRotation(binding, predecessorBindingId) ? binding : ports.predecessor;
  const { table, operator } = offering;
  const refused = validateBind(instance, instanceId, request, predecessor);
  if (refused !== undefined) return { answer: refused };
  const appGuid = request.appGuid ?? predecessor?.appGuid;
  if (instance === undefined || appGuid === undefined) return { answer: requiresApp };
  // an existing binding may contain options that the operator has forced since then
  const forced = binding === undefined ? operator.forced : {};
  const given = bindOptions(request, { instance, predecessor, forced });
  if ('description' in given) return { answer: badRequest(given.description) };
  const { options } = given;
  const asked = {
    id: bindingId,
    instanceId,
    serviceId: offering.id,
    planId: offering.plan.id,
    appGuid,
    ...(predecessorBindingId === undefined ? {} : { predecessorBindingId }),
    options,
  };
  if (binding !== undefined) {
    const { volumeMount, ...stored } = binding;
    if (isDeepStrictEqual(stored, asked)) return { answer: { status: 200, body: bindResponse(volumeMount) } };
    const description = `service binding ${bindingId} exists with other attributes; use another id`;
    return { answer: errorResponse(409, 'Conflict', description) };
  }
  if (!isShareAllowedFor(request, instance)) return { answer: badRequest(shareNotAllowed) };
  const merged = mergeOptions(table, operator, instance.options, options);
  if ('description' in merged) return { answer: badRequest(merged.description) };
  if (!hasSignableIds({ instanceId, appGuid }, ports.scheme))
    return { answer: badRequest(unsignableIdError) };
  const volumeMount = buildVolumeMount(offering, { instanceId, appGuid }, merged.options, ports.scheme);
  return { answer: { status: 201, body: bindResponse(volumeMount) }, binding: { ...asked, volumeMount } };
}

/** Returns the options of the binding, merged over those of its predecessor. */
function bindOptions(
  { offering: { table }, parameters, spaceGuid }: BindRequest,
  by: { instance: InstanceRecord; predecessor: BindingRecord | undefined; forced: Options },
): ParsedOptions {
  const { instance, predecessor, forced } = by;
  const parsed = parseOptions(table, parameters, 'bind', forced);
  if ('description' in parsed) return parsed;
  const given = withSpacePrefix(table, parsed.options, spaceGuid ?? instance.spaceGuid);
  if ('description' in given) return given;
  return { options: mergeOver(table, predecessor?.options ?? {}, given.options) };
}

/**
 * Returns true if the binding is the result of this rotation. Then the predecessor may already be deleted;
 * the binding itself has the app and options of the predecessor.
 */
const isReplayOfRotation = (binding: BindingRecord | undefined, predecessorId: string | undefined): boolean =>
  predecessorId !== undefined && binding?.predecessorBindingId === predecessorId;

const requiresApp = errorResponse(
  422,
  'RequiresApp',
  'a share can be bound to an app only; a service key cannot have one',
);

/** Returns the error of a request that is invalid independently of its parameters. */
function validateBind(
  instance: InstanceRecord | undefined,
  instanceId: string,
  { offering, appGuid, predecessorBindingId }: BindRequest,
  predecessor: BindingRecord | undefined,
): BrokerResponse | undefined {
  if (instance === undefined)
    return errorResponse(404, 'NotFound', `there is no service instance ${instanceId}; provision it first`);
  if (instance.serviceId !== offering.id)
    return badRequest(`service instance ${instanceId} is not of service ${offering.name}`);
  if (predecessorBindingId !== undefined && predecessor === undefined)
    return badRequest(`predecessor_binding_id names no binding of service instance ${instanceId}`);
  return (appGuid ?? predecessor?.appGuid) === undefined ? requiresApp : undefined;
}

/**
 * Returns true if the share is allowed for the space of the binding. An instance can be bound in a space that
 * it was shared into; then the share must be allowed for that space.
 */
function isShareAllowedFor(request: BindRequest, instance: InstanceRecord): boolean {
  const spaceGuid = request.spaceGuid ?? instance.spaceGuid;
  const isShared = spaceGuid !== instance.spaceGuid;
  return isAllowed(request.offering.allowedShares, String(instance.options['share']), {
    organizationGuid: isShared ? request.organizationGuid : instance.organizationGuid,
    spaceGuid,
  });
}

/** Returns the response body. Cloud Controller fails if `credentials` is missing or null. */
const bindResponse = (mount: VolumeMount): Record<string, unknown> => ({
  credentials: {},
  volume_mounts: [mount],
});

/** The instance and the app that a volume belongs to. */
interface VolumeSubject {
  readonly instanceId: string;
  readonly appGuid: string;
}

function hasSignableIds({ instanceId, appGuid }: VolumeSubject, scheme: VolumeIdScheme): boolean {
  if (scheme === 'md5' || 'hmacKey' in scheme) return true;
  return isSignable(instanceId) && isSignable(appGuid);
}

const unsignableIdError =
  'a signed volume id needs ids of instance and app of at most 36 letters, digits and dashes, as GUIDs are';

/**
 * Returns the volume mount of a binding. Signed mounts always contain `mount`, because the driver verifies it
 * against the id.
 */
export function buildVolumeMount(
  { driver, table }: Offering,
  { instanceId, appGuid }: VolumeSubject,
  options: Options,
  scheme: VolumeIdScheme,
): VolumeMount {
  const containerDir = String(options['mount'] ?? `/var/vcap/data/${instanceId}`);
  const mode = options['readonly'] === true ? 'r' : 'rw';
  const mountOptions = toMountConfig(table, options);
  const common = { driver, container_dir: containerDir, mode, device_type: 'shared' } as const;
  if (scheme === 'md5' || 'hmacKey' in scheme)
    return {
      ...common,
      device: { volume_id: createVolumeId(instanceId, mountOptions, scheme), mount_config: mountOptions },
    };
  const signed = { ...mountOptions, mount: containerDir };
  const id = signVolumeId({ instanceId, appGuid, containerDir, mode }, signed, scheme.signingKey);
  return { ...common, device: { volume_id: id, mount_config: signed } };
}
