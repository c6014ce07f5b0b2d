import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { replaceFile } from '../../platform/durable-file.ts';
import type { DriverConfig } from './config.ts';

const fileSuffixes = ['json', 'spec', 'sock'];

/**
 * Writes `<name>.spec` or `<name>.json`, which contains the driver's address for volman, and returns a
 * function that removes it. The directory may be writable for all users: a link at the file's path is
 * replaced and not followed.
 */
export async function writeSpecFile(config: DriverConfig, address: string): Promise<() => Promise<void>> {
  const { name, driversPath, transport } = config;
  const ending = transport.kind === 'tcp' ? transport.specFile : 'sock';
  const path = join(driversPath, `${name}.${ending}`);
  try {
    await mkdir(driversPath, { recursive: true, mode: 0o755 });
    // volman takes the first suffix that it finds
    for (const other of fileSuffixes.filter((each) => each !== ending))
      await rm(join(driversPath, `${name}.${other}`), { force: true });
    if (transport.kind === 'tcp')
      replaceFile(
        path,
        transport.specFile === 'spec' ? `http://${address}` : jsonSpec(config, address),
        0o644,
      );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ProductError(
      'DRIVER_CONFIG_INVALID',
      `spec file '${path}' cannot be written: ${why}; look after -driversPath`,
      {
        cause: error,
      },
    );
  }
  return () => rm(transport.kind === 'tcp' ? path : transport.path, { force: true });
}

function jsonSpec({ name, tls }: DriverConfig, address: string): string {
  const files = tls && {
    InsecureSkipVerify: tls.insecureSkipVerify,
    CAFile: tls.ca,
    CertFile: tls.clientCertificate,
    KeyFile: tls.clientKey,
  };
  return JSON.stringify({
    Name: name,
    Addr: `${tls === undefined ? 'http' : 'https'}://${address}`,
    TLSConfig: files ?? null,
    UniqueVolumeIds: true,
  });
}
