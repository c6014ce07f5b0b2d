import { X509Certificate } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFile } from '../../platform/write-file.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../platform/clock.ts';
import { errorCode, errorMessage } from '../file/error-code.ts';
import { exists, readFileIfPresent, writeDurableFile } from '../file/files.ts';
import { describeExit, type Programs, runAgentProgram } from '../process/programs.ts';
import { scriptPath } from '../script/job-script.ts';

export interface TrustedCertificatesOptions {
  /** The directory of additional CAs, whose files end in `.crt`. */
  readonly directory: string;
  readonly programs: Programs;
  readonly clock: Clock;
  /** How long update-ca-certificates may take; the agent answers nothing before it has ended at its start. */
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 60_000;

const prefix = 'bosh-trusted-cert-';
/** This file exists while the store may differ from the CAs. update-ca-certificates reads only `*.crt`. */
const unfinished = 'bosh-trusted-certs.unfinished';

/** The CAs of the director's `trusted_certs` in the certificate store of the system. */
export class TrustedCertificates {
  readonly #options: TrustedCertificatesOptions;

  constructor(options: TrustedCertificatesOptions) {
    this.#options = options;
  }

  /**
   * Replaces the CAs by those in a PEM text and runs update-ca-certificates (bosh-agent:
   * platform/cert/cert_manager.go). Does nothing if the same ones are installed. After a kill, the same call
   * completes it. Throws AGENT_SETTINGS_INVALID, before it changes anything, if the text has a certificate
   * that cannot be read or none, and AGENT_NOT_SUPPORTED if the store cannot be changed.
   */
  async install(pem: string): Promise<void> {
    const certificates = splitCertificates(pem);
    if (await this.#isInstalled(certificates)) return;
    const { directory } = this.#options;
    try {
      await mkdir(directory, { recursive: true, mode: 0o755 });
      await writeFile(join(directory, unfinished), '');
      for (const name of await this.#names()) await rm(join(directory, name));
      for (const [index, certificate] of certificates.entries())
        await writeDurableFile(join(directory, `${prefix}${index + 1}.crt`), certificate, 0o644);
    } catch (error) {
      throw notInstalled(errorMessage(error), error);
    }
    await this.#update();
    await rm(join(directory, unfinished));
  }

  async #isInstalled(certificates: readonly string[]): Promise<boolean> {
    const { directory } = this.#options;
    if (await exists(join(directory, unfinished))) return false;
    const names = await this.#names();
    if (names.length !== certificates.length) return false;
    for (const [index, certificate] of certificates.entries()) {
      if ((await readFileIfPresent(join(directory, `${prefix}${index + 1}.crt`))) !== certificate)
        return false;
    }
    return true;
  }

  async #names(): Promise<readonly string[]> {
    try {
      return (await readdir(this.#options.directory)).filter((name) => name.startsWith(prefix));
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return [];
      throw error;
    }
  }

  async #update(): Promise<void> {
    const { timeoutMs = defaultTimeoutMs } = this.#options;
    const exit = await runAgentProgram(
      this.#options,
      { file: 'update-ca-certificates', arguments: ['-f'], environment: { PATH: scriptPath } },
      AbortSignal.timeout(timeoutMs),
    );
    if (exit.code !== 0) throw notInstalled(`update-ca-certificates ${describeExit(exit)}`);
  }
}

/** A block that is no certificate would end the reading of the whole store in OpenSSL. */
function splitCertificates(pem: string): readonly string[] {
  const [rest = '', ...blocks] = pem.split(/(?=-----BEGIN CERTIFICATE-----)/u);
  const texts = rest.startsWith('-----BEGIN') ? [rest, ...blocks] : blocks;
  if (texts.length === 0 && pem.trim() !== '')
    throw new ProductError('AGENT_SETTINGS_INVALID', 'trusted_certs has no certificate in PEM form');
  return texts.map((text, index) => {
    try {
      return new X509Certificate(text).toString();
    } catch (error) {
      throw new ProductError(
        'AGENT_SETTINGS_INVALID',
        `certificate ${index + 1} of trusted_certs cannot be read: correct director.trusted_certs`,
        { cause: error },
      );
    }
  });
}

function notInstalled(cause: string, error?: unknown): ProductError {
  return new ProductError(
    'AGENT_NOT_SUPPORTED',
    `trusted_certs could not be installed: ${cause}; the stemcell needs the package ca-certificates and a root file system that can be written`,
    { cause: error },
  );
}
