import type { YamlField } from '../yaml/yaml-field.ts';
import type {
  DiskPool,
  GivenProperty,
  InstanceGroup,
  JobReference,
  Network,
  ResourcePool,
} from './manifest.ts';
import { readGroupNetworks } from './read-networks.ts';

/** The parts of the manifest to which an instance group may refer. */
export interface GroupContext {
  readonly networks: readonly Network[];
  /** Includes the names of invalid networks, so that one mistake causes one error. */
  readonly networkNames: readonly string[];
  readonly resourcePools: readonly ResourcePool[];
  readonly diskPools: readonly DiskPool[];
  readonly releaseNames: readonly string[];
  /** `properties` of the manifest. */
  readonly globalProperties: YamlField;
}

/**
 * Reads the instance group (bosh-cli: deployment/manifest/validator.go). Adds problems to the field's list.
 */
export function readInstanceGroup(field: YamlField, around: GroupContext): InstanceGroup {
  const instances = field.get('instances').integer();
  if (instances !== undefined && instances !== 1) field.get('instances').problem('must be 1');
  const lifecycle = field.get('lifecycle').text();
  if (lifecycle !== undefined && lifecycle !== '' && lifecycle !== 'service') {
    field.get('lifecycle').problem(`must be 'service', '${lifecycle}' is not supported`);
  }
  const resourcePool = field.get('resource_pool').requiredText();
  if (resourcePool !== '' && !around.resourcePools.some(({ name }) => name === resourcePool)) {
    field.get('resource_pool').problem(`there is no resource pool '${resourcePool}'`);
  }
  const diskPool = readDisk(field, around.diskPools);
  return {
    name: field.get('name').requiredText(),
    jobs: readJobs(field, around),
    networks: readGroupNetworks(field.get('networks'), around.networks, around.networkNames),
    resourcePool,
    ...(diskPool === undefined ? {} : { diskPool }),
    properties: field.get('properties').properties(),
    givenProperties: readGivenProperties(field.get('properties')),
  };
}

function readDisk(field: YamlField, pools: readonly DiskPool[]): DiskPool | undefined {
  const name = field.get('persistent_disk_pool').text() ?? '';
  const size = field.get('persistent_disk').integer() ?? 0;
  if (size < 0) field.get('persistent_disk').problem('must be a number of MiB, not below 0');
  if (name !== '') {
    const pool = pools.find((one) => one.name === name);
    if (pool === undefined) field.get('persistent_disk_pool').problem(`there is no disk pool '${name}'`);
    return pool;
  }
  return size > 0 ? { name: '', diskSize: size, cloudProperties: {} } : undefined;
}

function readJobs(
  field: YamlField,
  { releaseNames, globalProperties }: GroupContext,
): readonly JobReference[] {
  const [jobs, templates] = [field.get('jobs'), field.get('templates')];
  if (jobs.isPresent && templates.isPresent)
    templates.problem("is the old name of 'jobs'; only one of them is allowed");
  const seen = new Set<string>();
  return (jobs.isPresent ? jobs : templates).items().map((item) => {
    const name = item.get('name').requiredSegment();
    if (seen.has(name)) item.get('name').problem(`the job '${name}' is listed twice`);
    seen.add(name);
    const release = readReleaseName(item.get('release'), releaseNames);
    const properties = item.get('properties');
    const visible = firstPresent(properties, field.get('properties'), globalProperties, item.get('name'));
    const positions = { at: item.get('name').position, propertiesPosition: visible.position };
    const own = properties.isPresent ? { properties: properties.properties() } : {};
    return { name, release, ...positions, ...own, givenProperties: readGivenProperties(properties) };
  });
}

/** Returns the keys of a map and of the maps in it, with their positions. */
export function readGivenProperties(field: YamlField, outer = ''): readonly GivenProperty[] {
  if (field.node?.kind !== 'map') return [];
  return field.entries().map(([key, value]) => {
    const name = outer === '' ? key : `${outer}.${key}`;
    return { name, at: value.position, children: readGivenProperties(value, name) };
  });
}

/** Returns the first field that is present, otherwise the last one. */
export function firstPresent(...fields: readonly [YamlField, ...YamlField[]]): YamlField {
  return fields.find(({ isPresent }) => isPresent) ?? fields.at(-1) ?? fields[0];
}

/** Returns the name of a release in the manifest. Any other name is added as a problem. */
export function readReleaseName(field: YamlField, releases: readonly string[]): string {
  const release = field.requiredText();
  if (release !== '' && !releases.includes(release))
    field.problem(`there is no release '${release}' in releases`);
  return release;
}
