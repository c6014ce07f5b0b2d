import { type Json, type Location, child, recordAt, rejectUnknownKeys, invalidValue } from '../input.ts';
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
  readonly request: Readonly<Json>;
  /** The context that a cid or cloud_properties name; undefined: none. */
  readonly contextName: string | undefined;
}

export interface EffectiveConfig {
  readonly sections: Json;
  /** The named context, if it is one of the kubeconfig. */
  readonly kubeconfigContext: string | undefined;
}

/**
 * Merges the layers to one configuration. A named context is an entry of the section `contexts`, which wins
 * over everything else, or a context of the kubeconfig. Keys of the request's context that are not sections
 * belong to the caller and are ignored; an unknown key of the file is rejected. Throws INVALID_CONFIG, which
 * never quotes a value.
 */
export function mergeLayers({ file, request, contextName }: Layers, place: Location): EffectiveConfig {
  const base = recordAt(file, place);
  rejectUnknownKeys(base, topLevelKeys, place);
  const overrides = readOverrides(request, place);
  const { [contextsKey]: contexts, ...merged } = mergeLayer(base, overrides, place);
  const entries = contextEntries(contexts, child(place, contextsKey));
  if (contextName === undefined) return { sections: merged, kubeconfigContext: undefined };
  const entry = entries.get(contextName);
  if (entry !== undefined)
    return { sections: mergeLayer(merged, entry, place), kubeconfigContext: undefined };
  const { kubeconfig } = recordAt(merged['kubernetes'], child(place, 'kubernetes'));
  if (kubeconfig === undefined || kubeconfig === null) {
    throw invalidValue(
      child(place, contextsKey),
      `has no "${contextName}", and there is no kubeconfig that could have a context of this name`,
    );
  }
  return { sections: merged, kubeconfigContext: contextName };
}

/**
 * Reads the sections of the request's context. The job's property `ntp` becomes agent.ntp here, as in the
 * job's template.
 */
function readOverrides(request: Readonly<Json>, place: Location): Json {
  const given: Json = Object.fromEntries(
    topLevelKeys.map((key) => [key, request[key]]).filter(([, value]) => value !== undefined),
  );
  if (request['ntp'] === undefined) return given;
  const agent = recordAt(given['agent'], child(place, 'agent'));
  return { ...given, agent: { ntp: request['ntp'], ...agent } };
}

function contextEntries(value: unknown, place: Location): Map<string, Json> {
  const entries = Object.entries(recordAt(value, place)).map(([name, given]): [string, Json] => {
    const entry = recordAt(given, child(place, name));
    rejectUnknownKeys(entry, sections, child(place, name));
    return [name, entry];
  });
  return new Map(entries);
}

/**
 * Merges two layers. If the later layer configures cluster access or a registry, it replaces the earlier one
 * completely. Merged parts would not work, and could send a password to another server.
 */
function mergeLayer(base: Json, over: Json, place: Location): Json {
  const kept = dropAccess(dropRegistry(base, over, place), over, place);
  return deepMerge(dropContextAccess(kept, over, child(place, contextsKey)), over);
}

/** Removes the earlier registry if `over` names another URL. */
function dropRegistry(base: Json, over: Json, place: Location): Json {
  if (!Object.hasOwn(recordAt(over[registryKey], child(place, registryKey)), 'url')) return base;
  const { [registryKey]: _, ...rest } = base;
  return rest;
}

/** Removes the earlier cluster access if `over` configures one. */
function dropAccess(base: Json, over: Json, place: Location): Json {
  const later = recordAt(over['kubernetes'], child(place, 'kubernetes'));
  if (!accessSources.some((name) => Object.hasOwn(later, name))) return base;
  const previous = Object.entries(recordAt(base['kubernetes'], child(place, 'kubernetes')));
  return { ...base, kubernetes: Object.fromEntries(previous.filter(([key]) => !accessKeys.includes(key))) };
}

/** Removes the earlier cluster access of each context for which both layers configure one. */
function dropContextAccess(base: Json, over: Json, place: Location): Json {
  const later = Object.entries(recordAt(over[contextsKey], place));
  if (later.length === 0) return base;
  const contexts = new Map(Object.entries(recordAt(base[contextsKey], place)));
  for (const [name, entry] of later) {
    const own = child(place, name);
    contexts.set(name, dropAccess(recordAt(contexts.get(name), own), recordAt(entry, own), own));
  }
  return { ...base, [contextsKey]: Object.fromEntries(contexts) };
}

/**
 * Merges objects key by key; any other value replaces. A kubeconfig is one value: halves of two kubeconfigs
 * do not work together.
 */
export function deepMerge(base: Json, over: Json): Json {
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

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
