import { createHash } from 'node:crypto';
import { streamTar } from '../bosh/archive/pack-archive.ts';
import { digestOfFile } from '../bosh/digest.ts';
import { embeddedAgentProperties } from '../bosh/stemcell/stemcell.ts';
import { addPackedLayer, addTarLayer } from '../oci/layer/add-layer.ts';
import { addImage } from '../oci/layout/add-image.ts';
import type { DebianRoot } from './debian/debian-root.ts';
import type { Architecture, Profile } from './build-settings.ts';
import { type IdentityRequest, resolveIdentity } from './resolve-identity.ts';
import { imageConfig, labelsOf, stemcellLabels } from './image-config.ts';
import { type PublishedStemcell, publishStemcell } from './write-stemcell.ts';
import { systemName } from './source/os-release.ts';
import { createRootInspector } from './source/root-inspector.ts';
import { collectGarbageWhileStreaming } from './source/stream-with-gc.ts';
import { vmFiles } from './vm-files.ts';

export interface DebianStemcellRequest extends IdentityRequest {
  readonly output: string;
  readonly suite: string;
  readonly profile: Profile;
  readonly root: DebianRoot;
  /** The architecture of the root: mmdebstrap makes it for the machine on which it runs. */
  readonly architecture: Architecture;
  readonly epoch: number;
  /** Path of the agent's executable. */
  readonly agent: string;
  /** File with the licences of the embedded agent's components. */
  readonly notice?: string | undefined;
  readonly monit?: string | undefined;
  readonly davcli?: string | undefined;
  /** True if the agent is the embedded one. */
  readonly isOwnAgent: boolean;
  /** Receives a sentence about a doubt that does not prevent the build. */
  readonly warn: (sentence: string) => void;
  /** An abort ends the build with the signal's reason and leaves nothing behind. */
  readonly signal: AbortSignal;
}

/**
 * Builds a stemcell from a Debian root with an agent, supervision and sshd. The same root and agent give the
 * same bytes. Stemcells of all profiles share the layers of the root and the programs, which a registry
 * stores and a node unpacks only once.
 */
export async function buildDebianStemcell(request: DebianStemcellRequest): Promise<PublishedStemcell> {
  const { output, suite, profile, root, epoch, architecture, signal } = request;
  const content = await contentDigest(request);
  return publishStemcell(output, signal, async (blobs) => {
    const inspector = createRootInspector();
    const label = 'the Debian root';
    const { descriptor: rootLayer } = await addPackedLayer(blobs, {
      bytes: collectGarbageWhileStreaming(root.image.open(root.descriptor), signal),
      ...{ label, path: label, onEntry: inspector.nextLayer() },
    });
    const osRelease = inspector.osRelease();
    const facts = {
      ...{ name: `bosh-kubernetes-debian-${suite}-${profile}`, content, architecture, osRelease },
      // The suite may be an alias, such as stable, or that of another distribution's mirror.
      operatingSystem: osRelease?.codeName === undefined ? `debian-${suite}` : systemName(osRelease),
      agent: request.isOwnAgent ? embeddedAgentProperties : {},
    };
    const identity = resolveIdentity(request, facts, request.warn);
    const { version, operatingSystem } = identity;
    const files = await vmFiles({ ...request, version, operatingSystem });
    const programs = files.filter(({ kind }) => kind === 'file');
    const others = files.filter(({ kind }) => kind !== 'file');
    const programLayer = await addTarLayer(blobs, {
      bytes: collectGarbageWhileStreaming(streamTar(programs), signal),
      label: 'the programs of the VM',
    });
    const vmLayer = await addTarLayer(blobs, {
      bytes: collectGarbageWhileStreaming(streamTar(others), signal),
      label: 'the files of the VM',
    });
    const config = imageConfig({
      layers: [
        { descriptor: rootLayer, diffId: root.diffId, createdBy: `mmdebstrap ${suite}` },
        ...[programLayer, vmLayer].map((layer) => ({
          ...layer,
          createdBy: 'bosh-kubernetes stemcell build',
        })),
      ],
      architecture,
      epoch,
      entrypoint: ['/usr/lib/bosh-kubernetes/init'],
      labels: { ...labelsOf(identity), [stemcellLabels.profile]: profile },
    });
    const manifest = await addImage(blobs, {
      config,
      layers: [rootLayer, programLayer.descriptor, vmLayer.descriptor],
    });
    return { ...identity, manifest, files: { 'packages.txt': root.packages } };
  });
}

/**
 * Returns the digest of root, agent and files of the VM. The version, which is in one of the files, is
 * derived from it.
 */
async function contentDigest(request: DebianStemcellRequest): Promise<string> {
  const { root, suite, agent, monit, davcli } = request;
  const hash = createHash('sha256').update(`${root.descriptor.digest}\n${await digestOfFile(agent)}\n`);
  for (const path of [monit, davcli]) if (path !== undefined) hash.update(await digestOfFile(path));
  const files = await vmFiles({ ...request, version: '', operatingSystem: suite });
  for (const file of files)
    hash.update(`${file.name}\0${file.mode}\0`).update(file.kind === 'content' ? file.content : '');
  return `sha256:${hash.digest('hex')}`;
}
