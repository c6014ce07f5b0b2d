import type { Fields } from '../../platform/fields.ts';
import type { CredhubAccess, UaaClient } from './credhub-client.ts';

/** The connection settings of a CredHub in a configuration. Certificates and keys are paths of files. */
export interface CredhubSettings {
  readonly url: string;
  readonly caFile: string | undefined;
  readonly auth:
    | { readonly uaa: UaaClient & { readonly url: string | undefined; readonly caFile: string | undefined } }
    | { readonly certificateFile: string; readonly keyFile: string };
}

/** The keys of the map that `readCredhubSettings` reads. */
export const credhubSettingNames = ['url', 'ca', 'uaa', 'client_certificate', 'client_key'] as const;

/** Parses the settings of a CredHub. */
export function readCredhubSettings(read: Fields): CredhubSettings {
  const common = { url: httpsUrl(read, read.text('url')), caFile: read.optionalText('ca') };
  const byCertificate = ['client_certificate', 'client_key'].some((name) => read.value(name) !== undefined);
  if (byCertificate === (read.value('uaa') !== undefined))
    read.report('uaa', 'is needed, or client_certificate and client_key in its place');
  if (byCertificate) {
    const auth = { certificateFile: read.text('client_certificate'), keyFile: read.text('client_key') };
    return { ...common, auth };
  }
  const uaa = read.nested('uaa');
  const url = uaa.optionalText('url');
  return {
    ...common,
    auth: {
      uaa: {
        url: url === undefined ? undefined : httpsUrl(uaa, url),
        id: uaa.text('client_id'),
        secret: uaa.text('client_secret'),
        caFile: uaa.optionalText('ca'),
      },
    },
  };
}

/**
 * Reads the files of the settings with `readNamed`, which also gets the name of the setting for its error.
 */
export function credhubAccess(
  { url, caFile, auth }: CredhubSettings,
  readNamed: (path: string, setting: string) => string,
): CredhubAccess {
  const readIfNamed = (path: string | undefined, setting: string): string | undefined =>
    path === undefined ? undefined : readNamed(path, setting);
  const ca = readIfNamed(caFile, 'credhub.ca');
  if (!('uaa' in auth)) {
    const certificate = readNamed(auth.certificateFile, 'credhub.client_certificate');
    return { url, ca, auth: { certificate, key: readNamed(auth.keyFile, 'credhub.client_key') } };
  }
  const { caFile: uaaCaFile, ...uaa } = auth.uaa;
  return { url, ca, auth: { uaa: { ...uaa, ca: readIfNamed(uaaCaFile, 'credhub.uaa.ca') ?? ca } } };
}

function httpsUrl(read: Fields, text: string): string {
  const url = URL.parse(text);
  const isPlain =
    url?.protocol === 'https:' && `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (text !== '' && !isPlain) read.report('url', 'must be https://host:port, without user and query');
  return text;
}
