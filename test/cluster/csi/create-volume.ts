import { rename, truncate, writeFile } from 'node:fs/promises';
import { losesContent, zoneKeyOf, type Driver } from './drivers.ts';
import { CsiError } from './grpc.ts';
import type { CreateVolumeRequest, CsiVolume, VolumeContentSource } from './messages.ts';
import { capacityOf, isInRange, requireCapabilities } from './volume-capability.ts';
import { copyBlocks, copySparse } from './volume-files.ts';
import { replaceFile } from '../../../src/platform/durable-file.ts';
import { type ContentSource, type VolumeRecord, exists, fileState, idOf, isId } from './volume-store.ts';
import { require, requireVolume, type Controller } from './controller.ts';

interface Copied {
  readonly bytes: number;
  /** False for the copy of a volume that no node has had yet, because it has no content. */
  readonly isFormatted: boolean;
}

/** Creates a volume, empty or from a snapshot or another volume. The same name returns the same volume. */
export function createVolume(
  controller: Controller,
): (request: CreateVolumeRequest) => Promise<{ volume: CsiVolume }> {
  const { driver, store, lock } = controller;

  async function create(request: CreateVolumeRequest): Promise<{ volume: CsiVolume }> {
    if (request.name === '') throw new CsiError('INVALID_ARGUMENT', 'the name is missing');
    requireCapabilities(request.volumeCapabilities);
    const unknown = Object.keys(request.parameters ?? {}).find(
      (key) => key !== losesContent && !key.startsWith('csi.storage.k8s.io/'),
    );
    if (unknown !== undefined)
      throw new CsiError('INVALID_ARGUMENT', `the parameter ${unknown} is not known`);
    requireMutableParameters(driver, request.mutableParameters ?? {});
    const id = idOf(request.name);
    const source = sourceOf(request.volumeContentSource);
    return await lock(id, async () => {
      const present = await store.volume(id);
      if (present === undefined) return { volume: toCsiVolume(driver, await make(id, request, source)) };
      if (!isInRange(present.capacityBytes, request.capacityRange) || !isSame(present.source, source)) {
        throw new CsiError('ALREADY_EXISTS', `volume ${id} exists with another size or source`);
      }
      return { volume: toCsiVolume(driver, present) };
    });
  }

  async function make(
    id: string,
    request: CreateVolumeRequest,
    source: ContentSource | undefined,
  ): Promise<VolumeRecord> {
    const zone = driver.isZonal ? zoneOf(driver, request) : undefined;
    const next = `${store.image(id)}.next`;
    const { bytes: floor, isFormatted } = await (source === undefined
      ? makeEmpty(next)
      : copySource(source, next));
    const required = capacityOf(request.capacityRange);
    if (required < floor) {
      throw new CsiError(
        'OUT_OF_RANGE',
        `${required} bytes are fewer than the ${floor} of ${source?.id ?? ''}`,
      );
    }
    await truncate(next, required);
    await rename(next, store.image(id));
    if (isFormatted) replaceFile(store.formattedMark(id), '');
    const record: VolumeRecord = {
      id,
      capacityBytes: required,
      mutableParameters: request.mutableParameters ?? {},
      atRest: await fileState(store.image(id)),
      ...(source !== undefined && { source }),
      ...(zone !== undefined && { zone }),
      ...(request.parameters?.[losesContent] === 'true' && { isForgetful: true }),
    };
    await store.saveVolume(record);
    return record;
  }

  /** Copies the source to `next`. */
  async function copySource(source: ContentSource, next: string): Promise<Copied> {
    if (source.kind === 'volume') {
      require(driver.canClone, 'clone volumes', driver);
      return await lock(source.id, async () => {
        const volume = await requireVolume(controller, source.id);
        await copyBlocks(store.image(source.id), next);
        return { bytes: volume.capacityBytes, isFormatted: await exists(store.formattedMark(source.id)) };
      });
    }
    require(driver.canSnapshot, 'restore snapshots', driver);
    const snapshot = isId(source.id) ? await store.snapshot(source.id) : undefined;
    if (snapshot === undefined) throw new CsiError('NOT_FOUND', `there is no snapshot ${source.id}`);
    await copySparse(store.snapshotImage(source.id), next);
    return { bytes: snapshot.sizeBytes, isFormatted: snapshot.isFormatted };
  }

  return create;
}

async function makeEmpty(path: string): Promise<Copied> {
  await writeFile(path, '', { mode: 0o600 });
  return { bytes: 0, isFormatted: false };
}

function toCsiVolume(driver: Driver, record: VolumeRecord): CsiVolume {
  const { id, capacityBytes, source, zone } = record;
  return {
    volumeId: id,
    capacityBytes,
    volumeContext: {},
    ...(source !== undefined && {
      contentSource:
        source.kind === 'volume'
          ? { volume: { volumeId: source.id } }
          : { snapshot: { snapshotId: source.id } },
    }),
    ...(zone !== undefined && { accessibleTopology: [{ segments: { [zoneKeyOf(driver)]: zone } }] }),
  };
}

function sourceOf(source: VolumeContentSource | null | undefined): ContentSource | undefined {
  if (source?.snapshot) return { kind: 'snapshot', id: source.snapshot.snapshotId };
  return source?.volume ? { kind: 'volume', id: source.volume.volumeId } : undefined;
}

function isSame(one: ContentSource | undefined, other: ContentSource | undefined): boolean {
  return one?.kind === other?.kind && one?.id === other?.id;
}

function zoneOf(driver: Driver, { accessibilityRequirements }: CreateVolumeRequest): string {
  const wished = [
    ...(accessibilityRequirements?.preferred ?? []),
    ...(accessibilityRequirements?.requisite ?? []),
  ];
  const zone = wished[0]?.segments[zoneKeyOf(driver)];
  if (zone === undefined) throw new CsiError('RESOURCE_EXHAUSTED', `${driver.name} needs to know a zone`);
  return zone;
}

const attributes: Readonly<Record<string, RegExp>> = { iops: /^[1-9]\d{0,6}$/, tier: /^[a-z]{1,20}$/ };

/** Throws INVALID_ARGUMENT for a parameter of a VolumeAttributesClass that the driver does not support. */
export function requireMutableParameters(driver: Driver, parameters: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(parameters)) {
    require(driver.canModify, 'change the attributes of volumes', driver);
    if (attributes[key]?.test(value) !== true) {
      throw new CsiError('INVALID_ARGUMENT', `the attribute ${key} cannot be ${JSON.stringify(value)}`);
    }
  }
}
