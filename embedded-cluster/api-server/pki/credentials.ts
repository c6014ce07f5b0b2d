import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRecord } from '../schema/json.ts';
import { replaceFile } from '../../../src/platform/durable-file.ts';
import { issueCertificates, type Credentials } from './certificates.ts';

const renewBefore = 30 * 86_400_000;

/**
 * Returns the cluster's credentials from `<directory>/pki/credentials.json` (0600). Creates them if they are
 * missing, unreadable or expire within thirty days. A new set has a new authority, so kubeconfigs must be
 * written again. All are in one file, so that a crash cannot leave a key without its certificate.
 */
export async function loadCredentials(directory: string, now: number): Promise<Credentials> {
  const pkiDirectory = join(directory, 'pki');
  mkdirSync(pkiDirectory, { recursive: true, mode: 0o700 });
  const file = join(pkiDirectory, 'credentials.json');
  const present = read(file);
  if (present !== undefined && expiry(present) - now > renewBefore) return present;
  const issued = await issueCertificates(now);
  replaceFile(file, Buffer.from(`${JSON.stringify(issued, undefined, 2)}\n`));
  return issued;
}

const members = [
  'authority',
  'serverCertificate',
  'serverKey',
  'adminCertificate',
  'adminKey',
  'token',
] as const;

function read(file: string): Credentials | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const complete = isRecord(value) && members.every((member) => typeof value[member] === 'string');
    return complete ? (value as unknown as Credentials) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function expiry({ serverCertificate, adminCertificate }: Credentials): number {
  const ends = [serverCertificate, adminCertificate].map((pem) =>
    Date.parse(new X509Certificate(pem).validTo),
  );
  return Math.min(...ends);
}
