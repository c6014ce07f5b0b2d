import { join } from 'node:path';

/** Files of an image layout (image-spec, image-layout.md). */
export const layoutPaths = {
  marker: (directory: string): string => join(directory, 'oci-layout'),
  index: (directory: string): string => join(directory, 'index.json'),
  blobs: (directory: string): string => join(directory, 'blobs', 'sha256'),
  /** `digest` must be validated: it becomes part of a path. */
  blob: (directory: string, digest: string): string =>
    join(directory, 'blobs', 'sha256', digest.slice('sha256:'.length)),
} as const;

export const layoutVersion = '1.0.0';
/** The annotation of a descriptor in index.json: the name or tag of the image. */
export const referenceName = 'org.opencontainers.image.ref.name';
/**
 * The same annotation of containerd, kind and docker save, with host and repository (containerd:
 * images/annotations.go).
 */
export const containerdName = 'io.containerd.image.name';
