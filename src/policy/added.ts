// Fields whose entries are restrictions: every layer may add, and only the operator takes away, by name.
import type { Origin } from '../contract/policy.ts'
import { GloveboxError } from '../errors/error.ts'
import type { FieldState } from './bounded.ts'
import { builtInOrigin, escalation, parentOrigin } from './escalation.ts'
import { fieldRules } from './fields.ts'
import { formatOrigin } from './format.ts'
import type { CheckedLayer } from './layer.ts'
import { builtInProtectedNames, findBuiltInProtection, isAtOrBelow } from './protect.ts'

type AddingField = 'protect' | 'denyRead'
type Names = readonly string[]

const union = (one: Names, other: Names): Names => [...new Set([...one, ...other])]

function add<F extends AddingField>(state: FieldState<F>, names: Names, from: Origin): FieldState<F> {
  const value = union(state.value, names)
  // Repeating what holds already is still a demand that it hold.
  if (value.length === state.value.length) return { ...state, demanded: state.demanded || names.length > 0 }
  return { value, from, demanded: true }
}

function unknownProtection(name: string, origin: Origin): GloveboxError {
  return new GloveboxError(
    'INVALID_SETTINGS',
    `Cannot give up ${name}: ${formatOrigin(origin)} names nothing protected`,
    {
      hint: `Protected are: ${builtInProtectedNames.join(', ')}.`,
      facts: { field: 'unprotect', asked: name, layer: origin.layer, source: origin.source },
    },
  )
}

function essentialProtection(name: string, origin: Origin): GloveboxError {
  const cause = `${formatOrigin(origin)} asked for it, and Glovebox cannot hold its own settings without it`
  return new GloveboxError('INVALID_SETTINGS', `Cannot give up ${name}: ${cause}`, {
    hint: `Leave ${name} out of unprotect.`,
    facts: { field: 'unprotect', asked: name, layer: origin.layer, source: origin.source },
  })
}

/** Gives up a name and all below it: `.git` stands for `.git/hooks` and `.git/config`. */
function giveUp(state: FieldState<'protect'>, name: string, origin: Origin, floor: Names): FieldState<'protect'> {
  const names = [builtInProtectedNames, state.value].flatMap((all) => all.filter((known) => isAtOrBelow(known, name)))
  // A misspelt name would leave its writer believing that something was given up.
  if (names.length === 0) throw unknownProtection(name, origin)
  if (names.some((known) => findBuiltInProtection(known)?.essential)) throw essentialProtection(name, origin)
  const kept = state.value.filter((known) => !isAtOrBelow(known, name))
  // SECURITY: test/attacks/policy: "a sandbox inside a sandbox is never wider than its parent"
  if (floor.some((known) => isAtOrBelow(known, name))) {
    throw escalation({ field: 'protect', asked: kept, allowed: state.value, ceilingFrom: parentOrigin, by: origin })
  }
  return kept.length === state.value.length ? state : { ...state, value: kept, from: origin }
}

function start<F extends AddingField>(field: F, floor: Names): FieldState<F> {
  const value = union(fieldRules[field].initial, floor)
  const grown = value.length > fieldRules[field].initial.length
  return { value, from: grown ? parentOrigin : builtInOrigin, demanded: grown }
}

/** Within a layer names are given up before others are added, so that a layer can keep a part of what it gives up. */
export function foldProtect(layers: readonly CheckedLayer[], floor: Names): FieldState<'protect'> {
  let state = start('protect', floor)
  for (const { origin, values, unprotect } of layers) {
    for (const name of unprotect) state = giveUp(state, name, origin, floor)
    state = add(state, values.protect ?? [], origin)
  }
  return state
}

export function foldDenyRead(layers: readonly CheckedLayer[], floor: Names): FieldState<'denyRead'> {
  return layers.reduce(
    (state, { origin, values }) => add(state, values.denyRead ?? [], origin),
    start('denyRead', floor),
  )
}
