# SPDX-License-Identifier: GPL-2.0
#
# How a program that runs inside the guest is compiled: static, so that it needs nothing there.
#   make [OUT=DIR] [CC=gcc] [STATIC=] [EXTRA_CFLAGS=-fsanitize=address,undefined]

OUT ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
STATIC ?= -static
CFLAGS ?= -O2 -g
OWN_CFLAGS := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -pthread
LINK := $(CC) $(OWN_CFLAGS) $(CFLAGS) $(EXTRA_CFLAGS) $(STATIC)
