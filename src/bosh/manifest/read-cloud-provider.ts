import { isLoopback, parseSecretUrl, secretUrlHelp } from '../url/parse-secret-url.ts';
import type { Field } from '../yaml/field.ts';
import type { CloudProvider } from './manifest.ts';
import { firstPresent, readReleaseName } from './read-instance-group.ts';

/**
 * Reads `cloud_provider` (bosh-cli: installation/manifest/{parser,validator}.go). Ignores `ssh_tunnel`,
 * because the tunnel is never opened.
 */
export function readCloudProvider(field: Field, releases: readonly string[]): CloudProvider {
  if (!field.isPresent) field.problem('must be provided');
  const ca = readCa(field.get('cert').get('ca'));
  return {
    at: field.position,
    propertiesPosition: firstPresent(field.get('properties'), field).position,
    templates: field.isPresent ? readTemplates(field, releases) : [],
    mbusAt: field.get('mbus').position,
    mbus: field.isPresent ? readMbus(field.get('mbus')) : '',
    ...(ca === undefined ? {} : { ca }),
    properties: field.get('properties').properties(),
  };
}

function readTemplates(field: Field, releases: readonly string[]): CloudProvider['templates'] {
  const several = field.get('templates').items();
  const seen = new Set<string>();
  return (several.length > 0 ? several : [field.get('template')]).map((template) => {
    const name = template.get('name').requiredSegment();
    if (seen.has(name)) template.get('name').problem(`the template '${name}' is there twice`);
    seen.add(name);
    return {
      name,
      release: readReleaseName(template.get('release'), releases),
      at: template.get('name').position,
    };
  });
}

/**
 * Reads the mbus URL. Its text is a secret and is never shown. Requires TLS for other machines: otherwise
 * anyone on the network path could read it and control the VM.
 */
function readMbus(field: Field): string {
  const mbus = field.requiredText();
  if (mbus === '') return mbus;
  const { url } = parseSecretUrl(mbus) ?? {};
  if (url === undefined) field.problem(secretUrlHelp);
  else if (url.protocol === 'http:' && !isLoopback(url))
    field.problem('must be https: http would send user and password in clear text');
  else if (url.protocol !== 'https:' && url.protocol !== 'http:')
    field.problem('must be a URL like https://user:password@10.0.0.6:6868');
  return mbus;
}

function readCa(field: Field): string | undefined {
  const ca = field.text();
  if (ca === undefined || ca === '') return undefined;
  if (!/-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/.test(ca))
    field.problem('is not a certificate in PEM');
  return ca;
}
