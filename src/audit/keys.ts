// The key pair that signs heads: ed25519, made once, before the first record. The private half never lies in the directory
// that is copied to auditors. A pair that was lost is not made anew: that would let a rewritten log be signed again.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { placeFile, privateKeyPath, publicKeyPath, readIfThere, type AuditPlace } from './files.ts'
import { unavailable } from './refusal.ts'

export interface SigningKey {
  readonly privateKey: KeyObject
  /** SHA-256 of the public key's DER form. */
  readonly fingerprint: string
}

export function openKey(place: AuditPlace, options: { readonly logExists: boolean }): SigningKey {
  const pem = readIfThere(privateKeyPath(place))
  if (pem !== undefined) return agreed(place, readPrivate(place, pem))
  if (options.logExists || readIfThere(publicKeyPath(place)) !== undefined)
    throw unavailable('its private key is missing', privateKeyPath(place))
  return create(place)
}

function create(place: AuditPlace): SigningKey {
  const { privateKey } = generateKeyPairSync('ed25519')
  mkdirSync(place.keyDirectory, { recursive: true, mode: 0o700 })
  placeFile(privateKeyPath(place), Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  return agreed(place, privateKey)
}

function readPrivate(place: AuditPlace, pem: Buffer): KeyObject {
  const seen = statSync(privateKeyPath(place))
  // SECURITY: whoever reads this key can sign a history of their own.
  // src/audit/heads: "a private key that others can read is refused"
  if (seen.uid !== process.getuid?.() || (seen.mode & 0o077) !== 0)
    throw unavailable('its private key belongs to, or can be read by, somebody else', privateKeyPath(place))
  try {
    return createPrivateKey(pem)
  } catch {
    throw unavailable('its private key cannot be read', privateKeyPath(place))
  }
}

/** A kill between the two halves leaves the private one alone; the public one follows from it. */
function agreed(place: AuditPlace, privateKey: KeyObject): SigningKey {
  const publicKey = createPublicKey(privateKey)
  const wanted = Buffer.from(publicKey.export({ type: 'spki', format: 'pem' }))
  const there = readIfThere(publicKeyPath(place))
  if (there === undefined) placeFile(publicKeyPath(place), wanted)
  else if (!there.equals(wanted)) throw unavailable('its two keys are not a pair', publicKeyPath(place))
  const der = publicKey.export({ type: 'spki', format: 'der' })
  return { privateKey, fingerprint: createHash('sha256').update(der).digest('hex') }
}
