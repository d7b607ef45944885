;; Reads an answer of Claude Code in its usual form without spaces: the message is the first nested value of the line, and its
;; `usage` is at $hit. Writes to $out where the strings of the line begin and end, and its counters. Returns 0 for every other
;; line, which must then be read in another way; the data at $out is then not valid.
;; $out: positions of id, model, request id and time (8 × i32; 0 if missing), flags (i32: 1 fast, 2 side chain), and at 40 seven
;; counters (f64) in the order of `column`. Strings are skipped sixteen bytes at a time, so there must be 32 readable bytes before
;; $start and after $end.
(module
  (import "env" "memory" (memory 1))
  ;; Names of keys, 32 bytes each, in the part of the memory that is reserved for this program.
  (data (i32.const 4096) "type")
  (data (i32.const 4128) "message")
  (data (i32.const 4160) "requestId")
  (data (i32.const 4192) "timestamp")
  (data (i32.const 4224) "isSidechain")
  (data (i32.const 4256) "id")
  (data (i32.const 4288) "model")
  (data (i32.const 4320) "cache_creation")
  (data (i32.const 4352) "server_tool_use")
  (data (i32.const 4384) "speed")
  (data (i32.const 4416) "input_tokens")
  (data (i32.const 4448) "output_tokens")
  (data (i32.const 4480) "cache_creation_input_tokens")
  (data (i32.const 4512) "cache_read_input_tokens")
  (data (i32.const 4544) "ephemeral_5m_input_tokens")
  (data (i32.const 4576) "ephemeral_1h_input_tokens")
  (data (i32.const 4608) "web_search_requests")
  ;; The key that was read last.
  (global $key (mut i32) (i32.const 0))
  (global $keyLength (mut i32) (i32.const 0))
  ;; Set when a counter is anything but a whole number.
  (global $isOdd (mut i32) (i32.const 0))
  ;; The value of `type`.
  (global $type (mut i32) (i32.const 0))
  (global $typeLength (mut i32) (i32.const 0))

  (func (export "answer") (param $start i32) (param $end i32) (param $hit i32) (param $out i32) (result i32)
    (local $tail i32) (local $message i32) (local $after i32)
    (global.set $isOdd (i32.const 0))
    (global.set $typeLength (i32.const 0))
    (memory.fill (local.get $out) (i32.const 0) (i32.const 96))
    (local.set $message (call $head (local.get $start) (local.get $end) (local.get $out)))
    (if (i32.eqz (local.get $message)) (then (return (i32.const 0))))
    (local.set $tail (call $tail (local.get $message) (local.get $end) (local.get $out)))
    (if (i32.eqz (local.get $tail)) (then (return (i32.const 0))))
    ;; assistant
    (if
      (i32.eqz
        (i32.and
          (i32.eq (global.get $typeLength) (i32.const 9))
          (i32.and
            (i64.eq (i64.load align=1 (global.get $type)) (i64.const 0x6e61747369737361))
            (i32.eq (i32.load8_u offset=8 (global.get $type)) (i32.const 116)))))
      (then (return (i32.const 0))))
    ;; "usage":
    (if (i64.ne (i64.load align=1 (local.get $hit)) (i64.const 0x3a22656761737522)) (then (return (i32.const 0))))
    (if (i32.or (i32.lt_u (local.get $hit) (local.get $message)) (i32.gt_u (local.get $hit) (local.get $tail)))
      (then (return (i32.const 0))))
    (local.set $after (call $counters (i32.add (local.get $hit) (i32.const 8)) (local.get $tail) (local.get $out) (i32.const 0)))
    (if (i32.or (i32.eqz (local.get $after)) (global.get $isOdd)) (then (return (i32.const 0))))
    (if
      (i32.eqz
        (i32.and
          (call $isBetween (i32.add (local.get $message) (i32.const 1)) (local.get $hit))
          (call $closesOnce (local.get $after) (local.get $tail))))
      (then (return (i32.const 0))))
    (call $names (i32.add (local.get $message) (i32.const 1)) (local.get $hit) (local.get $out)))

  ;; Reads the line up to its first nested value. Returns the position of the value, 0 if its key is not `message`.
  (func $head (param $at i32) (param $end i32) (param $out i32) (result i32)
    (local $value i32) (local $first i32) (local $next i32)
    (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 123)) (then (return (i32.const 0))))
    (loop $pairs
      (local.set $value (call $pair (i32.add (local.get $at) (i32.const 1)) (local.get $end)))
      (if (i32.eqz (local.get $value)) (then (return (i32.const 0))))
      (local.set $first (i32.load8_u (local.get $value)))
      (if (i32.eq (local.get $first) (i32.const 123))
        (then
          ;; message
          (return (select (local.get $value) (i32.const 0) (call $is (i32.const 4128) (i32.const 7))))))
      (local.set $next (call $value (local.get $value) (local.get $end)))
      (if (i32.eqz (local.get $next)) (then (return (i32.const 0))))
      (call $note (local.get $value) (local.get $next) (local.get $out))
      (local.set $at (local.get $next))
      (br_if $pairs (i32.eq (i32.load8_u (local.get $at)) (i32.const 44))))
    (i32.const 0))

  ;; Reads pairs backwards from the end of the line to its last nested value. Returns the position after that value.
  (func $tail (param $start i32) (param $end i32) (param $out i32) (result i32)
    (local $at i32) (local $tail i32) (local $value i32) (local $valueEnd i32) (local $open i32)
    (local.set $at (i32.sub (local.get $end) (i32.const 1)))
    (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 125)) (then (return (i32.const 0))))
    (loop $pairs
      (local.set $tail (local.get $at))
      (local.set $valueEnd (local.get $at))
      (local.set $value (call $beginning (i32.sub (local.get $at) (i32.const 1)) (local.get $start)))
      (if (i32.eqz (local.get $value)) (then (return (local.get $tail))))
      ;; ":
      (if (i32.ne (i32.load16_u align=1 (i32.sub (local.get $value) (i32.const 2))) (i32.const 0x3a22))
        (then (return (local.get $tail))))
      (local.set $open (call $opening (i32.sub (local.get $value) (i32.const 2)) (local.get $start)))
      (if (i32.eqz (local.get $open)) (then (return (local.get $tail))))
      (local.set $at (i32.sub (local.get $open) (i32.const 1)))
      (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 44)) (then (return (local.get $tail))))
      (global.set $key (i32.add (local.get $open) (i32.const 1)))
      (global.set $keyLength (i32.sub (i32.sub (local.get $value) (local.get $open)) (i32.const 3)))
      (call $note (local.get $value) (local.get $valueEnd) (local.get $out))
      (br $pairs))
    (unreachable))

  ;; Stores the value of the last key if the value is needed.
  (func $note (param $value i32) (param $end i32) (param $out i32)
    (local $isString i32)
    (local.set $isString (i32.eq (i32.load8_u (local.get $value)) (i32.const 34)))
    (if (i32.eq (global.get $keyLength) (i32.const 4))
      (then
        ;; type
        (if (i32.and (local.get $isString) (call $is (i32.const 4096) (i32.const 4)))
          (then
            (global.set $type (i32.add (local.get $value) (i32.const 1)))
            (global.set $typeLength (i32.sub (i32.sub (local.get $end) (local.get $value)) (i32.const 2)))))
        (return)))
    (if (i32.eq (global.get $keyLength) (i32.const 9))
      (then
        (if (i32.eqz (local.get $isString)) (then (return)))
        ;; requestId
        (if (call $is (i32.const 4160) (i32.const 9))
          (then (call $keep (local.get $value) (local.get $end) (i32.add (local.get $out) (i32.const 16)))))
        ;; timestamp
        (if (call $is (i32.const 4192) (i32.const 9))
          (then (call $keep (local.get $value) (local.get $end) (i32.add (local.get $out) (i32.const 24)))))
        (return)))
    ;; isSidechain: true
    (if (call $is (i32.const 4224) (i32.const 11))
      (then
        (if (i32.eq (i32.load8_u (local.get $value)) (i32.const 116))
          (then (i32.store offset=32 (local.get $out) (i32.or (i32.load offset=32 (local.get $out)) (i32.const 2))))))))

  ;; Writes where a string begins and ends, without its quotes.
  (func $keep (param $value i32) (param $end i32) (param $out i32)
    (i32.store (local.get $out) (i32.add (local.get $value) (i32.const 1)))
    (i32.store offset=4 (local.get $out) (i32.sub (local.get $end) (i32.const 1))))

  ;; The id and the model of the message, which come before its content. Returns 1 if both were found.
  (func $names (param $at i32) (param $end i32) (param $out i32) (result i32)
    (local $value i32) (local $first i32) (local $next i32)
    (loop $pairs
      (local.set $value (call $pair (local.get $at) (local.get $end)))
      (if (i32.eqz (local.get $value)) (then (return (i32.const 0))))
      (local.set $first (i32.load8_u (local.get $value)))
      (if (i32.or (i32.eq (local.get $first) (i32.const 123)) (i32.eq (local.get $first) (i32.const 91)))
        (then (return (i32.const 0))))
      (local.set $next (call $value (local.get $value) (local.get $end)))
      (if (i32.eqz (local.get $next)) (then (return (i32.const 0))))
      (if (i32.eq (local.get $first) (i32.const 34))
        (then
          ;; id
          (if (call $is (i32.const 4256) (i32.const 2))
            (then (call $keep (local.get $value) (local.get $next) (local.get $out))))
          ;; model
          (if (call $is (i32.const 4288) (i32.const 5))
            (then (call $keep (local.get $value) (local.get $next) (i32.add (local.get $out) (i32.const 8)))))
          (if (i32.and (i32.ne (i32.load (local.get $out)) (i32.const 0)) (i32.ne (i32.load offset=8 (local.get $out)) (i32.const 0)))
            (then (return (i32.const 1))))))
      (local.set $at (i32.add (local.get $next) (i32.const 1)))
      (br_if $pairs (i32.eq (i32.load8_u (local.get $next)) (i32.const 44))))
    (i32.const 0))

  ;; Reads the counters of the object at $at: `usage`, or (nested) `cache_creation` and `server_tool_use` in it. Returns the
  ;; position after the object, 0 if it is no object. Breakdowns such as `iterations` repeat the numbers and are skipped.
  (func $counters (param $at i32) (param $end i32) (param $out i32) (param $isNested i32) (result i32)
    (local $value i32) (local $next i32) (local $to i32)
    (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 123)) (then (return (i32.const 0))))
    (if (i32.eq (i32.load8_u offset=1 (local.get $at)) (i32.const 125))
      (then (return (i32.add (local.get $at) (i32.const 2)))))
    (loop $pairs
      (local.set $value (call $pair (i32.add (local.get $at) (i32.const 1)) (local.get $end)))
      (if (i32.eqz (local.get $value)) (then (return (i32.const 0))))
      (local.set $next (i32.const 0))
      (local.set $to (call $placeOf (local.get $isNested)))
      (if (local.get $to)
        (then
          (f64.store (i32.add (local.get $out) (local.get $to)) (call $digits (local.get $value) (local.get $end)))))
      (if (i32.eqz (local.get $isNested))
        (then
          ;; cache_creation, server_tool_use
          (if (i32.or
              (call $is (i32.const 4320) (i32.const 14))
              (call $is (i32.const 4352) (i32.const 15)))
            (then
              (if (i32.eq (i32.load8_u (local.get $value)) (i32.const 123))
                (then
                  (local.set $next (call $counters (local.get $value) (local.get $end) (local.get $out) (i32.const 1)))
                  (if (i32.eqz (local.get $next)) (then (return (i32.const 0))))))))
          ;; speed: "fast"
          (if (i32.and (call $is (i32.const 4384) (i32.const 5)) (call $isFast (local.get $value)))
            (then (i32.store offset=32 (local.get $out) (i32.or (i32.load offset=32 (local.get $out)) (i32.const 1)))))))
      (if (i32.eqz (local.get $next)) (then (local.set $next (call $value (local.get $value) (local.get $end)))))
      (if (i32.eqz (local.get $next)) (then (return (i32.const 0))))
      (local.set $at (local.get $next))
      (br_if $pairs (i32.eq (i32.load8_u (local.get $at)) (i32.const 44))))
    (select (i32.add (local.get $at) (i32.const 1)) (i32.const 0) (i32.eq (i32.load8_u (local.get $at)) (i32.const 125))))

  ;; Returns where the counter of the last key is in the output, 0 if the key is not a counter.
  (func $placeOf (param $isNested i32) (result i32)
    (if (local.get $isNested)
      (then
        ;; ephemeral_5m_input_tokens, ephemeral_1h_input_tokens, web_search_requests
        (if (call $is (i32.const 4544) (i32.const 25)) (then (return (i32.const 72))))
        (if (call $is (i32.const 4576) (i32.const 25)) (then (return (i32.const 80))))
        (if (call $is (i32.const 4608) (i32.const 19)) (then (return (i32.const 88))))
        (return (i32.const 0))))
    ;; input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens
    (if (call $is (i32.const 4416) (i32.const 12)) (then (return (i32.const 40))))
    (if (call $is (i32.const 4448) (i32.const 13)) (then (return (i32.const 48))))
    (if (call $is (i32.const 4480) (i32.const 27)) (then (return (i32.const 56))))
    (if (call $is (i32.const 4512) (i32.const 23)) (then (return (i32.const 64))))
    (i32.const 0))

  ;; Returns 1 if the key that was read last is the name at $name.
  (func $is (param $name i32) (param $length i32) (result i32)
    (local $mask i32)
    (if (i32.ne (global.get $keyLength) (local.get $length)) (then (return (i32.const 0))))
    (local.set $mask (i32.sub (i32.shl (i32.const 1) (local.get $length)) (i32.const 1)))
    (i32.eq
      (local.get $mask)
      (i32.and
        (local.get $mask)
        (i32.or
          (i8x16.bitmask (i8x16.eq (v128.load align=1 (global.get $key)) (v128.load align=1 (local.get $name))))
          (i32.shl
            (i8x16.bitmask
              (i8x16.eq (v128.load offset=16 align=1 (global.get $key)) (v128.load offset=16 align=1 (local.get $name))))
            (i32.const 16))))))

  (func $isFast (param $at i32) (result i32)
    ;; "fas, st"
    (i32.and
      (i32.eq (i32.load align=1 (local.get $at)) (i32.const 0x73616622))
      (i32.eq (i32.load16_u offset=4 align=1 (local.get $at)) (i32.const 0x2274))))

  ;; Reads a whole number of at most 15 digits.
  (func $digits (param $at i32) (param $end i32) (result f64)
    (local $number i64) (local $digit i32) (local $from i32)
    (local.set $from (local.get $at))
    (block $done
      (loop $next
        (local.set $digit (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)))
        (br_if $done (i32.gt_u (local.get $digit) (i32.const 9)))
        (local.set $number (i64.add (i64.mul (local.get $number) (i64.const 10)) (i64.extend_i32_u (local.get $digit))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (local.set $digit (i32.load8_u (local.get $at)))
    (if
      (i32.or
        (i32.or (i32.eq (local.get $at) (local.get $from)) (i32.gt_u (i32.sub (local.get $at) (local.get $from)) (i32.const 15)))
        (i32.eqz (i32.or (i32.eq (local.get $digit) (i32.const 44)) (i32.eq (local.get $digit) (i32.const 125)))))
      (then (global.set $isOdd (i32.const 1))))
    (f64.convert_i64_u (local.get $number)))

  ;; Returns 1 if every brace and bracket that opens between $at and $end also closes there, and no other closes: then $at and $end are in
  ;; the same object.
  (func $isBetween (param $at i32) (param $end i32) (result i32)
    (local $byte i32) (local $depth i32)
    (loop $next
      (local.set $byte (i32.load8_u (local.get $at)))
      (if (i32.eq (local.get $byte) (i32.const 34))
        (then
          (local.set $at (call $string (local.get $at) (local.get $end)))
          (if (i32.eqz (local.get $at)) (then (return (i32.const 0)))))
        (else
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (local.set $depth (i32.add (local.get $depth) (call $step (local.get $byte))))
          (if (i32.lt_s (local.get $depth) (i32.const 0)) (then (return (i32.const 0))))))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
    (i32.eqz (local.get $depth)))

  ;; Returns 1 if the object that is open at $at closes with the last byte before $end: then a key before $at belongs to that object.
  (func $closesOnce (param $at i32) (param $end i32) (result i32)
    (local $byte i32) (local $depth i32)
    (loop $next
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const 0))))
      (local.set $byte (i32.load8_u (local.get $at)))
      (if (i32.eq (local.get $byte) (i32.const 34))
        (then
          (local.set $at (call $string (local.get $at) (local.get $end)))
          (if (i32.eqz (local.get $at)) (then (return (i32.const 0))))
          (br $next)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (local.set $depth (i32.add (local.get $depth) (call $step (local.get $byte))))
      (br_if $next (i32.ge_s (local.get $depth) (i32.const 0))))
    (i32.eq (local.get $at) (local.get $end)))

  ;; Returns 1 for a byte that opens an object or a list, -1 for a byte that closes one, 0 for any other byte.
  (func $step (param $byte i32) (result i32)
    ;; An opening brace and an opening bracket differ in bit 5, and so do the closing ones.
    (local.set $byte (i32.or (local.get $byte) (i32.const 32)))
    (i32.sub (i32.eq (local.get $byte) (i32.const 123)) (i32.eq (local.get $byte) (i32.const 125))))

  ;; Reads `"key":`. Returns where the value begins, 0 if there is no such pair.
  (func $pair (param $at i32) (param $end i32) (result i32)
    (local $keyEnd i32)
    (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 34)) (then (return (i32.const 0))))
    (local.set $keyEnd (call $string (local.get $at) (local.get $end)))
    (if (i32.eqz (local.get $keyEnd)) (then (return (i32.const 0))))
    (if (i32.ne (i32.load8_u (local.get $keyEnd)) (i32.const 58)) (then (return (i32.const 0))))
    (global.set $key (i32.add (local.get $at) (i32.const 1)))
    (global.set $keyLength (i32.sub (i32.sub (local.get $keyEnd) (local.get $at)) (i32.const 2)))
    (i32.add (local.get $keyEnd) (i32.const 1)))

  ;; Returns the position after any value, 0 if the value does not end.
  (func $value (param $at i32) (param $end i32) (result i32)
    (local $byte i32) (local $depth i32) (local $from i32)
    (local.set $from (local.get $at))
    (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 34))
      (then (return (call $string (local.get $at) (local.get $end)))))
    (if (i32.eq (call $step (i32.load8_u (local.get $at))) (i32.const 1))
      (then
        (loop $next
          (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const 0))))
          (local.set $byte (i32.load8_u (local.get $at)))
          (if (i32.eq (local.get $byte) (i32.const 34))
            (then
              (local.set $at (call $string (local.get $at) (local.get $end)))
              (if (i32.eqz (local.get $at)) (then (return (i32.const 0))))
              (br $next)))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (local.set $depth (i32.add (local.get $depth) (call $step (local.get $byte))))
          (br_if $next (local.get $depth)))
        (return (local.get $at))))
    ;; The usual form has no spaces here.
    (if (i32.le_u (i32.load8_u (local.get $at)) (i32.const 32)) (then (return (i32.const 0))))
    ;; A number, true, false or null: up to a comma or a bracket.
    (loop $next
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const 0))))
      (local.set $byte (i32.load8_u (local.get $at)))
      (if
        (i32.and
          (i32.ne (local.get $byte) (i32.const 44))
          (i32.ne (i32.or (local.get $byte) (i32.const 32)) (i32.const 125)))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $next))))
    (select (i32.const 0) (local.get $at) (i32.eq (local.get $at) (local.get $from))))

  ;; Returns the position after the string at $at, 0 if the string does not end.
  (func $string (param $at i32) (param $end i32) (result i32)
    (local $block v128) (local $mask i32)
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    (loop $next
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const 0))))
      (local.set $block (v128.load align=1 (local.get $at)))
      (local.set $mask
        (i8x16.bitmask
          (v128.or
            (i8x16.eq (local.get $block) (i8x16.splat (i32.const 34)))
            (i8x16.eq (local.get $block) (i8x16.splat (i32.const 0x5c))))))
      (if (i32.eqz (local.get $mask))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br $next)))
      (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $mask))))
      (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x5c))
        (then
          ;; A backslash and the byte that it escapes.
          (local.set $at (i32.add (local.get $at) (i32.const 2)))
          (br $next))))
    (select (i32.add (local.get $at) (i32.const 1)) (i32.const 0) (i32.lt_u (local.get $at) (local.get $end))))

  ;; Returns where the plain value begins whose last byte is at $at, 0 if it does not begin after $start or has escapes.
  (func $beginning (param $at i32) (param $start i32) (result i32)
    (local $byte i32) (local $from i32)
    (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 34))
      (then (return (call $opening (local.get $at) (local.get $start)))))
    (local.set $from (local.get $at))
    (block $done
      (loop $next
        (local.set $byte (i32.load8_u (local.get $at)))
        ;; a to z, 0 to 9, a point or a minus
        (br_if $done
          (i32.eqz
            (i32.or
              (i32.or
                (i32.lt_u (i32.sub (local.get $byte) (i32.const 97)) (i32.const 26))
                (i32.lt_u (i32.sub (local.get $byte) (i32.const 48)) (i32.const 10)))
              (i32.or (i32.eq (local.get $byte) (i32.const 46)) (i32.eq (local.get $byte) (i32.const 45))))))
        (local.set $at (i32.sub (local.get $at) (i32.const 1)))
        (br_if $next (i32.gt_u (local.get $at) (local.get $start)))))
    (select
      (i32.const 0)
      (i32.add (local.get $at) (i32.const 1))
      (i32.or (i32.eq (local.get $at) (local.get $from)) (i32.le_u (local.get $at) (local.get $start)))))

  ;; Returns the position of the opening quote of the string whose closing quote is at $at, 0 if there is none after $start or the string has
  ;; escapes.
  (func $opening (param $at i32) (param $start i32) (result i32)
    (local $block v128) (local $mask i32)
    (loop $next
      (local.set $at (i32.sub (local.get $at) (i32.const 16)))
      (local.set $block (v128.load align=1 (local.get $at)))
      (local.set $mask
        (i8x16.bitmask
          (v128.or
            (i8x16.eq (local.get $block) (i8x16.splat (i32.const 34)))
            (i8x16.eq (local.get $block) (i8x16.splat (i32.const 0x5c))))))
      (if (i32.eqz (local.get $mask))
        (then
          (br_if $next (i32.gt_u (local.get $at) (local.get $start)))
          (return (i32.const 0)))))
    (local.set $at (i32.add (local.get $at) (i32.sub (i32.const 31) (i32.clz (local.get $mask)))))
    (if (i32.le_u (local.get $at) (local.get $start)) (then (return (i32.const 0))))
    ;; A quote that is escaped does not open a string.
    (if
      (i32.or
        (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x5c))
        (i32.eq (i32.load8_u (i32.sub (local.get $at) (i32.const 1))) (i32.const 0x5c)))
      (then (return (i32.const 0))))
    (local.get $at)))
