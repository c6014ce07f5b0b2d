import { Field } from '../../platform/field.ts';
import { type JsonObject, isObject } from '../../platform/json.ts';
import { accessSources, accessKeys } from './cluster-access.ts';

/** The sections that a context in the section `contexts` may have, too. */
const sections = ['kubernetes', 'networks', 'agent', 'defaults', 'deadlines', 'env'] as const;
const contextsKey = 'contexts';
/** All clusters share one registry, because no call about a stemcell names a context. */
const registryKey = 'registry';
const topLevelKeys: readonly string[] = [...sections, registryKey, contextsKey];

export interface Layers {
  /** The configuration that the job rendered. */
  readonly file: unknown;
  /** The context of the request. Its sections win key by key; the properties of a cpi-config are in it. */
  readonly request: JsonObject;
  /** The context that a cid or cloud_properties name; undefined: none. */
  readonly contextName: string | undefined;
}

export interface EffectiveConfig {
  readonly config: Field;
  /** The named context, if it is one of the kubeconfig. */
  readonly kubeconfigContext: string | undefined;
}

const configField = (value: unknown): Field => new Field(value, 'config', 'INVALID_CONFIG');

/**
 * Merges the layers to one configuration. A named context is an entry of the section `contexts`, which wins
 * over everything else, or a context of the kubeconfig. Keys of the request's context that are not sections
 * belong to the caller and are ignored; an unknown key of the file is rejected. Throws INVALID_CONFIG, which
 * never quotes a value.
 */
export function mergeLayers({ file, request, contextName }: Layers): EffectiveConfig {
  const base = configField(file);
  base.rejectUnknownKeys(topLevelKeys);
  const { [contextsKey]: mergedContexts, ...merged } = mergeLayer(base, readOverrides(request));
  const config = configField(merged);
  const contexts = configField({ [contextsKey]: mergedContexts }).get(contextsKey);
  for (const [, context] of contexts.entries()) context.rejectUnknownKeys(sections);
  if (contextName === undefined) return { config, kubeconfigContext: undefined };
  if (Object.hasOwn(contexts.record(), contextName))
    return {
      config: configField(mergeLayer(config, contexts.get(contextName))),
      kubeconfigContext: undefined,
    };
  if (!config.get('kubernetes').get('kubeconfig').isPresent) {
    throw contexts.error(
      `has no "${contextName}", and there is no kubeconfig that could have a context of this name`,
    );
  }
  return { config, kubeconfigContext: contextName };
}

/**
 * Reads the sections of the request's context. The job's property `ntp` becomes agent.ntp here, as in the
 * job's template.
 */
function readOverrides(request: JsonObject): Field {
  const given = Object.fromEntries(
    topLevelKeys.map((key) => [key, request[key]]).filter(([, value]) => value !== undefined),
  );
  if (request['ntp'] === undefined) return configField(given);
  const agent = configField(given).get('agent').record();
  return configField({ ...given, agent: { ntp: request['ntp'], ...agent } });
}

/**
 * Merges two layers. If the later layer configures cluster access or a registry, it replaces the earlier one
 * completely. Merged parts would not work, and could send a password to another server.
 */
function mergeLayer(base: Field, over: Field): JsonObject {
  const { [registryKey]: registry, ...kept } = dropAccess(base, over);
  const replacesRegistry = Object.hasOwn(over.get(registryKey).record(), 'url');
  const previous = base.get(contextsKey);
  const contexts = over
    .get(contextsKey)
    .entries()
    .map(([name, context]) => [name, dropAccess(previous.get(name), context)] as const);
  return deepMerge(
    {
      ...kept,
      ...(!replacesRegistry && { [registryKey]: registry }),
      ...(contexts.length > 0 && {
        [contextsKey]: { ...previous.record(), ...Object.fromEntries(contexts) },
      }),
    },
    over.record(),
  );
}

/** Returns the earlier layer, without its cluster access if `over` configures one. */
function dropAccess(base: Field, over: Field): JsonObject {
  const later = over.get('kubernetes').record();
  if (!accessSources.some((name) => Object.hasOwn(later, name))) return base.record();
  const previous = Object.entries(base.get('kubernetes').record());
  return {
    ...base.record(),
    kubernetes: Object.fromEntries(previous.filter(([key]) => !accessKeys.includes(key))),
  };
}

/**
 * Merges objects key by key; any other value replaces. A kubeconfig is one value: halves of two kubeconfigs
 * do not work together.
 */
export function deepMerge(base: JsonObject, over: JsonObject): JsonObject {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const previous = merged.get(key);
    merged.set(
      key,
      isObject(previous) && isObject(value) && key !== 'kubeconfig' ? deepMerge(previous, value) : value,
    );
  }
  return Object.fromEntries(merged);
}
