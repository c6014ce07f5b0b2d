import type { GivenProperty, Manifest } from '../../bosh/manifest/manifest.ts';
import { nearest } from '../../platform/nearest.ts';
import type { ReleaseSummary } from '../archive/archive-catalog.ts';

/**
 * Returns a warning for each property that is probably misspelt, with its position in the manifest: no spec
 * of the jobs that get it has the property, and the spec has a similar one beside it. A template does not see
 * such a property and uses the default.
 *
 * Properties without a similar name cause no warning: bosh-deployment gives its jobs several that their
 * releases no longer have. In `cloud_provider.properties` they cause one if the spec has others beside them.
 */
export function unknownProperties(manifest: Manifest, releases: readonly ReleaseSummary[]): string[] {
  const { instanceGroup, cloudProvider } = manifest;
  const { jobs } = instanceGroup;
  return [
    ...findUnknown(instanceGroup.givenProperties, specOf(jobs, releases)),
    ...jobs.flatMap((job) => findUnknown(job.givenProperties, specOf([job], releases))),
    ...findUnknown(cloudProvider.givenProperties, {
      ...specOf(cloudProvider.templates, releases),
      isComplete: true,
    }),
  ];
}

interface Spec {
  /** The beginning of a sentence that ends with a property. */
  readonly lacks: string;
  /** Dotted names. */
  readonly properties: readonly string[];
  /** True if a property causes a warning also if none is similar. */
  readonly isComplete?: boolean;
}

interface JobName {
  readonly name: string;
  readonly release: string;
}

function specOf(jobs: readonly JobName[], releases: readonly ReleaseSummary[]): Spec {
  const [job, ...others] = jobs;
  const properties = jobs.flatMap(
    ({ name, release }) =>
      releases.find((one) => one.name === release)?.jobs.find((one) => one.name === name)?.properties ?? [],
  );
  const lacks =
    job !== undefined && others.length === 0
      ? `job '${job.name}' of release '${job.release}' has no property`
      : 'no job of the instance group has a property';
  return { lacks, properties };
}

function findUnknown(given: readonly GivenProperty[], spec: Spec, outer = ''): string[] {
  return given.flatMap(({ name, at, children }) => {
    // The value of this property is a map, whose keys are the operator's.
    if (spec.properties.includes(name)) return [];
    if (spec.properties.some((known) => known.startsWith(`${name}.`)))
      return findUnknown(children, spec, name);
    const besides = keysBelow(outer, spec.properties);
    const meant = nearest(name.slice(outer === '' ? 0 : outer.length + 1), besides);
    const unknown = `${at}: ${spec.lacks} '${name}', so it has no effect`;
    if (meant !== undefined)
      return [`${unknown}; the most similar is '${outer === '' ? meant : `${outer}.${meant}`}'`];
    return spec.isComplete === true && outer !== '' ? [`${unknown}; known are ${besides.join(', ')}`] : [];
  });
}

/** Returns the keys that the properties have directly below `outer`, each once. */
function keysBelow(outer: string, properties: readonly string[]): string[] {
  const prefix = outer === '' ? '' : `${outer}.`;
  const below = properties.filter((name) => name.startsWith(prefix));
  return [...new Set(below.map((name) => name.slice(prefix.length).split('.')[0] ?? ''))];
}
