import { X509Certificate } from 'node:crypto';
import { checkServerIdentity } from 'node:tls';
import type { AgentCertificate, Manifest } from '../../bosh/manifest/manifest.ts';
import { ProductError } from '../../errors/product-error.ts';

/**
 * Throws MANIFEST_INVALID if the certificate that the manifest gives to the agent is not for the host of the
 * mbus, because the agent client would refuse the new VM's agent. This happens when an address changes while
 * the vars store keeps its certificate.
 *
 * Checks nothing if another certificate may be at the mbus: without TLS, if the CA of `cloud_provider.cert`
 * has not signed this one, or if it cannot be parsed.
 */
export function checkAgentCertificate(manifest: Manifest, varsStorePath: string | undefined): void {
  const { mbus, mbusAt, ca } = manifest.cloudProvider;
  const { agentCertificate } = manifest.resourcePool;
  const { protocol, hostname } = new URL(mbus);
  if (agentCertificate === undefined || ca === undefined || protocol !== 'https:') return;
  const certificate = parse(agentCertificate.pem);
  if (certificate === undefined || !isSignedBy(certificate, ca)) return;
  const host = hostname.replace(/^\[|\]$/g, '');
  // Node's clients decide with this function.
  if (checkServerIdentity(host, certificate.toLegacyObject()) === undefined) return;
  throw new ProductError(
    'MANIFEST_INVALID',
    `${mbusAt}: the certificate of the agent, ${nameOf(agentCertificate)}, is for ${namesIn(certificate)} and not for '${host}', ` +
      `so this run could not reach the agent of the VM that it creates. Nothing was changed; ${nextStep(agentCertificate, varsStorePath)}`,
  );
}

function parse(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

const pemPattern = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function isSignedBy(certificate: X509Certificate, ca: string): boolean {
  return (ca.match(pemPattern) ?? []).some((pem) => {
    const authority = parse(pem);
    return authority !== undefined && certificate.checkIssued(authority);
  });
}

/** Returns the names as `127.0.0.1, director.example`; without alternative names the subject. */
function namesIn({ subjectAltName, subject }: X509Certificate): string {
  if (subjectAltName === undefined) return `'${subject.replaceAll('\n', ', ')}'`;
  return subjectAltName.replaceAll(/(?:DNS|IP Address):/g, '');
}

const nameOf = ({ at, source }: AgentCertificate): string =>
  source === undefined ? at : `variable '${source.variable}' of '${source.file}'`;

function nextStep({ source }: AgentCertificate, varsStorePath: string | undefined): string {
  if (source === undefined || source.file !== varsStorePath)
    return 'name one of these in the mbus, or give a certificate for this address';
  return `if the address is right, remove '${source.variable}' from the vars store '${source.file}', so that it is generated again with the alternative_names of the manifest, which must have the address`;
}
