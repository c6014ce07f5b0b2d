import { readFileSync } from 'node:fs';
import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { Fields, isObject } from '../../../platform/fields.ts';
import { readOwnFile } from '../../../platform/read-file.ts';
import { credhubClient } from '../../credhub/credhub-client.ts';
import { credhubAccess, credhubSettingNames, readCredhubSettings } from '../../credhub/credhub-settings.ts';
import { isSecretPath } from '../../signature/secret-reference.ts';
import type { CredhubPlace } from './read-secret.ts';

const known: readonly string[] = [...credhubSettingNames, 'prefix'];

/**
 * Returns a client of the CredHub that the file of `-credhub` names. The file is JSON, as
 * docs/volumes/driver.md shows it. CredHub may still be unreachable. The file contains a secret: it must
 * belong to this user, and is made unreadable for others.
 */
export async function openCredhub(path: string): Promise<CredhubPlace> {
  const faults: string[] = [];
  const map = parseMap(await textOf(path));
  if (map === undefined) throw configError(path, ['it must be a JSON object']);
  for (const name of Object.keys(map))
    if (!known.includes(name)) faults.push(`${JSON.stringify(name.slice(0, 64))} is no setting`);
  const read = new Fields(map, '', faults);
  const settings = readCredhubSettings(read);
  const prefix = read.text('prefix');
  if (prefix !== '' && !(prefix.startsWith('/') && isSecretPath(prefix.slice(1))))
    read.report(
      'prefix',
      'must be a slash and parts of letters, digits, dots, dashes and underscores, as /volumes',
    );
  if (faults.length > 0) throw configError(path, faults);
  const readNamed = (file: string, setting: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw configError(path, [`${setting} names a file that cannot be read, '${file}'`], error);
    }
  };
  return { prefix, client: credhubClient(credhubAccess(settings, readNamed)) };
}

async function textOf(path: string): Promise<string> {
  try {
    const text = await readOwnFile(path, { tightenMode: true });
    if (text !== undefined) return text;
  } catch (error) {
    if (isProductError(error)) throw error;
    throw configError(path, ['it cannot be read'], error);
  }
  throw configError(path, ['there is no such file']);
}

/** Parses the text. The parser's own error would quote the text, which contains a secret. */
function parseMap(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const configError = (path: string, faults: readonly string[], cause?: unknown): ProductError =>
  new ProductError(
    'DRIVER_CONFIG_INVALID',
    `volumes driver does not start: '${path}' of -credhub: ${faults.join('; ')}`,
    { cause },
  );
